// SPDX-License-Identifier: Apache-2.0
// [Peers] of gpuhostd.conf.
#pragma once

#include "daemon/core/settings.hpp"

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::images {

[[nodiscard]] std::span<const core::SettingKey> peers_setting_keys();

struct PeersSettings {
    std::vector<std::string> peers;   ///< "HOST", "HOST:PORT", "[ADDRESS]:PORT"
    std::vector<std::string> domains; ///< their DNS names more peers
    std::vector<std::string> bundles; ///< names or shell patterns that the timer fetches
    std::chrono::milliseconds timeout{0};
};
[[nodiscard]] PeersSettings peers_settings(const core::Settings& settings);

/// Returns "https://HOST:PORT" in lower case; nothing for an invalid host, which could change the meaning of
/// the URL.
[[nodiscard]] std::string peer_url(std::string_view peer);
/// Accepts host names by RFC 1123: labels of letters, digits and hyphens.
[[nodiscard]] bool is_host_name(std::string_view name);

} // namespace gpuhost::images
