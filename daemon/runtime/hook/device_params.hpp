// SPDX-License-Identifier: Apache-2.0
// disable-device-node-modification: the driver's libraries create device nodes according to
// /proc/driver/nvidia/params. In a container the runtime creates the nodes, so params must disable this.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

#include <optional>

namespace gpuhost::runtime {

/// Mounts a copy of the host's `params` with "ModifyDeviceFiles: 0" over the container's. Does nothing if the
/// host has no driver, its params already say so, or the container lacks a proper /proc with the file.
[[nodiscard]] base::Result<void> disable_device_node_modification(const ContainerRoot& root);

/// Returns the changed text, or nothing if `params` need no change.
[[nodiscard]] std::optional<std::string> without_modification(std::string_view params);

} // namespace gpuhost::runtime
