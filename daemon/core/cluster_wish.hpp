// SPDX-License-Identifier: Apache-2.0
// What a cluster's policy wants of this host, as gpuhost-cluster hands it to the daemon.
#pragma once

#include "daemon/base/json.hpp"

#include <string>
#include <string_view>

namespace gpuhost::core {

struct ClusterWish {
    /// [Toolkit] Version=, where no file says otherwise; empty: whatever the files say. It outlives a boot.
    std::string toolkit;
    /// A driver that the host takes once an administrator says so; empty: none. It counts as long as gpuhost-cluster runs.
    std::string driver;

    [[nodiscard]] bool operator==(const ClusterWish&) const = default;
};

/// {"toolkit": …, "driver": …}, each of which may be missing; anything else is InvalidArgument.
[[nodiscard]] base::Result<ClusterWish> cluster_wish_from_json(const base::Json& value);
[[nodiscard]] base::Json to_json(const ClusterWish& wish);

/// Where it stands as settings, below all files of an administrator's (settings.hpp); what it says of toolkits, empty for
/// nothing.
inline constexpr std::string_view cluster_wish_file = "/var/lib/gpuhost/cluster-wish.conf";
inline constexpr std::string_view cluster_policy_source =
    "the cluster's policy"; ///< Setting::source of what it says
[[nodiscard]] std::string settings_text(const ClusterWish& wish);
[[nodiscard]] ClusterWish cluster_wish_from_settings(std::string_view text);

} // namespace gpuhost::core
