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
/// Reads the settings from the files of a host. An invalid value is that of an earlier file, or the default.
[[nodiscard]] ClusterSettings read_cluster_settings(const base::Root& root);
/// Reads the settings again. Returns `current` if one is invalid, as gpuhostd keeps its values then.
[[nodiscard]] ClusterSettings reread_cluster_settings(const base::Root& root, const ClusterSettings& current);

} // namespace gpuhost::cluster
