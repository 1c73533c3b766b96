// SPDX-License-Identifier: Apache-2.0
// The configuration that a cluster's policy sets for this host, as gpuhost-cluster sends it to the daemon.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::core {

struct ClusterDesired {
    /// The toolkit's version. It is used as [Toolkit] Version= if no file of an administrator sets that key.
    /// Empty: not set by the policy. Persists across boots.
    std::string toolkit;
    /// The driver version to install after an administrator has approved it; empty: none. Discarded when
    /// gpuhost-cluster disconnects.
    std::string driver;
    /// The driver version that gpuhost-cluster installs without an approval, when the host's turn comes.
    /// Empty: none. Discarded as `driver`.
    std::string scheduled{};

    [[nodiscard]] bool operator==(const ClusterDesired&) const = default;
};

/// Parses {"toolkit": …, "driver": …, "scheduled": …}; all are optional. Fails with InvalidArgument for
/// anything else.
[[nodiscard]] base::Result<ClusterDesired> cluster_desired_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const ClusterDesired& desired);

/// The file in which the daemon stores ClusterDesired::toolkit as a setting. The daemon removes the file if
/// `toolkit` is empty. All files of an administrator override the file (settings.hpp).
inline constexpr std::string_view cluster_desired_file = "/var/lib/gpuhost/cluster-desired.conf";
/// The value of Setting::source for the settings in cluster_desired_file.
inline constexpr std::string_view cluster_policy_source = "the cluster's policy";
/// Returns the content of cluster_desired_file; empty if `toolkit` is empty.
[[nodiscard]] std::string settings_text(const ClusterDesired& desired);
[[nodiscard]] ClusterDesired cluster_desired_from_settings(std::string_view text);

} // namespace gpuhost::core
