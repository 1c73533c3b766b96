// SPDX-License-Identifier: Apache-2.0
// What procfs says about one process, as text in and values out.
#pragma once

#include "daemon/base/file_users.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhost::kmod {

/// Where a process belongs.
struct Origin {
    std::string unit;      ///< the system manager's unit: "nvidia-persistenced.service"
    std::string container; ///< full container id
    std::string pod;       ///< Kubernetes' uid of its pod
};

/// Of /proc/PID/cgroup, of either hierarchy.
[[nodiscard]] Origin parse_cgroup(std::string_view text);

using base::Mapping;
using base::parse_maps;

/// The path of a mapping that is worth a look, as a path: "/dev/nvidia0", "/dev/nvidiactl" of "/dev/nvidiactl
/// (deleted)", "/run/nvidia/driver/dev/nvidia-uvm", "/dev/dri/card0", but also "/srv/dev/nvidia-sdk/x.so".
/// Else empty.
[[nodiscard]] std::string may_be_driver_device(std::string_view path);

} // namespace gpuhost::kmod
