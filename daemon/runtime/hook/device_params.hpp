// SPDX-License-Identifier: Apache-2.0
// disable-device-node-modification: the driver's libraries create device nodes if /proc/driver/nvidia/params
// permits it. In a container the runtime creates the nodes, so params must forbid it.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

#include <optional>

namespace gpuhost::runtime {

/// Mounts a copy of the host's `params` with "ModifyDeviceFiles: 0" over the container's params. Does nothing
/// if the host has no driver, if its params already forbid it, or if the container's /proc lacks the file or
/// is not a procfs.
[[nodiscard]] base::Result<void> disable_device_node_modification(const ContainerRoot& root);

/// Returns the changed text; nullopt if `params` need no change.
[[nodiscard]] std::optional<std::string> without_modification(std::string_view params);

} // namespace gpuhost::runtime
