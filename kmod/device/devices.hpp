// SPDX-License-Identifier: Apache-2.0
// The driver's nodes in /dev, which no module creates itself. Names, numbers and permissions are those of
// nvidia-modprobe.
#pragma once

#include "kmod/device_node.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// The rules that the driver gives in /proc/driver/nvidia/params.
struct DeviceRules {
    bool modify = true; ///< NVreg_ModifyDeviceFiles; false: do not change the nodes
    mode_t mode = 0666;
    uid_t uid = 0;
    gid_t gid = 0;
};
[[nodiscard]] DeviceRules parse_device_rules(std::string_view params);

/// Returns the number in "Device Minor: \t 0" of a GPU's information file; -1 if it is missing.
[[nodiscard]] int parse_gpu_minor(std::string_view information);

/// Returns all nodes that the loaded modules serve. Empty if the driver forbids changes to them.
[[nodiscard]] std::vector<DeviceNode> wanted_devices(const base::Root& root);
/// Returns the wanted nodes that are missing or have a wrong number, mode or owner.
[[nodiscard]] std::vector<DeviceNode> missing_devices(const base::Root& root);
/// Returns /dev/nvidia0 and the like: the nodes that lead to a GPU.
[[nodiscard]] std::vector<std::string> gpu_nodes(const base::Root& root);
/// Returns whether missing_devices() would be empty, without a query of the driver about its GPUs. Such a
/// query can wait for a busy GPU, and the daemon must not wait.
[[nodiscard]] bool devices_complete(const base::Root& root);
/// Creates missing nodes, and the links in /dev/char by which containers are given devices.
[[nodiscard]] base::Result<void> make_devices(const base::Root& root);

} // namespace gpuhost::kmod
