// SPDX-License-Identifier: Apache-2.0
// Parses files of /proc/PID.
#pragma once

#include "daemon/base/file_users.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhost::kmod {

/// The unit, container and pod of a process, from its control group. Empty: none.
struct Origin {
    std::string unit;      ///< a unit of the system's systemd, not of a user's: "nvidia-persistenced.service"
    std::string container; ///< full container ID, 64 hex digits
    std::string pod;       ///< UID of its pod in Kubernetes
};

/// Parses the text of /proc/PID/cgroup, for cgroup v1 or v2.
[[nodiscard]] Origin parse_cgroup(std::string_view text);

using base::Mapping;
using base::parse_maps;

/// Returns `path`, the path of a mapping in /proc/PID/maps, without " (deleted)". Returns an empty string if
/// this text alone shows that the path cannot be a device of the driver. Examples of paths that are returned:
/// "/dev/nvidia0", "/run/nvidia/driver/dev/nvidia-uvm", "/dev/dri/card0". Callers must check the file:
/// "/srv/dev/nvidia-sdk/x.so" is returned too.
[[nodiscard]] std::string may_be_driver_device(std::string_view path);

} // namespace gpuhost::kmod
