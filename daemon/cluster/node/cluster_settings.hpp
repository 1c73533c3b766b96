// SPDX-License-Identifier: Apache-2.0
// Section [Cluster] of gpuhostd.conf(5).
#pragma once

#include "daemon/cluster/node/node_change.hpp"
#include "daemon/core/settings.hpp"

#include <span>
#include <string>

namespace gpuhost::cluster {

[[nodiscard]] std::span<const core::SettingKey> cluster_setting_keys();

struct ClusterSettings {
    std::string node; ///< name of the Node; empty: the host's name
    NodeDesired desired;
    bool upgrades = true;
    bool candidate = false;
    bool evicts_as_own = false; ///< evict pods with this program's own credentials, not the kubelet's
    std::string metrics_listen; ///< address and port; empty: metrics are not served

    bool operator==(const ClusterSettings&) const = default;
};

[[nodiscard]] ClusterSettings cluster_settings(const core::Settings& settings);
/// Loads the section from the files of a host. For an invalid value, the key has that of an earlier file, or
/// the default.
[[nodiscard]] core::Settings load_cluster_settings(const base::Root& root);
/// Loads the section again. For an invalid value, the key keeps its value in `current`, as in gpuhostd.
[[nodiscard]] core::Settings reload_cluster_settings(const base::Root& root, const core::Settings& current);

} // namespace gpuhost::cluster
