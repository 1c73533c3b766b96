// SPDX-License-Identifier: Apache-2.0
// The configuration that a cluster's policy sets for this host, as gpuhost-cluster sends it to the daemon.
#pragma once

#include "daemon/base/json.hpp"

#include <string>
#include <string_view>

namespace gpuhost::core {

struct ClusterDesired {
    /// [Toolkit] Version=, used if no file sets it; empty: the files decide. Persists across boots.
    std::string toolkit;
    /// A driver to install once an administrator approves it; empty: none. Valid while gpuhost-cluster runs.
    std::string driver;

    [[nodiscard]] bool operator==(const ClusterDesired&) const = default;
};

/// Parses {"toolkit": …, "driver": …}; both are optional. Fails with InvalidArgument for anything else.
[[nodiscard]] base::Result<ClusterDesired> cluster_desired_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const ClusterDesired& desired);

/// The file that stores the toolkit's version as settings, with a lower precedence than all of an
/// administrator's files (settings.hpp). settings_text() is empty if no version is set.
inline constexpr std::string_view cluster_desired_file = "/var/lib/gpuhost/cluster-desired.conf";
/// Setting::source of these settings.
inline constexpr std::string_view cluster_policy_source = "the cluster's policy";
[[nodiscard]] std::string settings_text(const ClusterDesired& desired);
[[nodiscard]] ClusterDesired cluster_desired_from_settings(std::string_view text);

} // namespace gpuhost::core
