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
    std::vector<std::string> domains; ///< whose DNS names further ones
    std::vector<std::string> bundles; ///< names, or patterns of a shell, that the timer fetches
    std::chrono::milliseconds timeout{0};
};
[[nodiscard]] PeersSettings peers_settings(const core::Settings& settings);

/// "https://HOST:PORT", in small letters; nothing for what is no host, which would lead elsewhere in an address.
[[nodiscard]] std::string peer_url(std::string_view peer);
/// As RFC 1123 has them: labels of letters, digits and hyphens.
[[nodiscard]] bool is_host_name(std::string_view name);

} // namespace gpuhost::images
