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
    std::vector<std::string> domains; ///< domains whose DNS records name further peers
    /// Names or shell patterns of the bundles that gpuhost-fetch.timer fetches.
    std::vector<std::string> bundles;
    std::chrono::milliseconds timeout{0};
};
[[nodiscard]] PeersSettings peers_settings(const core::Settings& settings);

/// Returns "https://HOST:PORT" in lower case for a peer as in PeersSettings::peers; the default port is 2990.
/// Empty if the host or port is invalid, because its characters could change the meaning of the URL.
[[nodiscard]] std::string peer_url(std::string_view peer);
/// Accepts a host name of RFC 1123: labels of letters, digits and hyphens, with dots between them.
[[nodiscard]] bool is_host_name(std::string_view name);

} // namespace gpuhost::images
