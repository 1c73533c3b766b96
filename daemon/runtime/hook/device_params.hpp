// SPDX-License-Identifier: Apache-2.0
// disable-device-node-modification: the driver's libraries make device nodes as /proc/driver/nvidia/params tells them to.
// In a container nodes are the runtime's business, so there it tells them not to.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

#include <optional>

namespace gpuhost::runtime {

/// Puts a copy of the host's `params` that says "ModifyDeviceFiles: 0" over the container's. Where the host has no
/// driver, or its params say so anyway, or the container's /proc is none or lacks the file, there is nothing to do.
[[nodiscard]] base::Result<void> disable_device_node_modification(const ContainerRoot& root);

/// Empty where `params` need no change.
[[nodiscard]] std::optional<std::string> without_modification(std::string_view params);

} // namespace gpuhost::runtime
