// SPDX-License-Identifier: Apache-2.0
// Parses procfs's texts about one process into values.
#pragma once

#include "daemon/base/file_users.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhost::kmod {

/// The unit, container and pod of a process.
struct Origin {
    std::string unit;      ///< the system manager's unit: "nvidia-persistenced.service"
    std::string container; ///< full container id
    std::string pod;       ///< Kubernetes' uid of its pod
};

/// Parses /proc/PID/cgroup of either hierarchy.
[[nodiscard]] Origin parse_cgroup(std::string_view text);

using base::Mapping;
using base::parse_maps;

/// Returns the path of a mapping that may be a device of the driver, else an empty string: "/dev/nvidia0",
/// "/dev/nvidiactl" of "/dev/nvidiactl (deleted)", "/run/nvidia/driver/dev/nvidia-uvm", "/dev/dri/card0". It
/// may be another file too: "/srv/dev/nvidia-sdk/x.so".
[[nodiscard]] std::string may_be_driver_device(std::string_view path);

} // namespace gpuhost::kmod
