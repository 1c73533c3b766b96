// SPDX-License-Identifier: Apache-2.0
// Creates the driver's nodes in /dev, which its modules do not create. Names, numbers and permissions are the
// same as with nvidia-modprobe.
#pragma once

#include "kmod/device_node.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// The driver's settings for its nodes, in /proc/driver/nvidia/params.
struct DeviceRules {
    bool modify = true; ///< ModifyDeviceFiles; false: programs must not change the nodes
    mode_t mode = 0666;
    uid_t uid = 0;
    gid_t gid = 0;
};
[[nodiscard]] DeviceRules parse_device_rules(std::string_view params);

/// Returns the number in the line "Device Minor: \t 0" of a GPU's file "information" in procfs; -1 if the
/// line is missing.
[[nodiscard]] int parse_gpu_minor(std::string_view information);

/// Returns all nodes that should exist for the loaded modules. Empty if no driver is loaded, or if
/// DeviceRules::modify is false.
[[nodiscard]] std::vector<DeviceNode> wanted_devices(const base::Root& root);
/// Returns those of wanted_devices() that are missing, or have a wrong number, mode, owner or link in
/// /dev/char.
[[nodiscard]] std::vector<DeviceNode> missing_devices(const base::Root& root);
/// Returns the paths of the nodes of single GPUs: /dev/nvidia0, …
[[nodiscard]] std::vector<std::string> gpu_nodes(const base::Root& root);
/// Returns whether all nodes exist. Unlike missing_devices(), does not read the GPUs' files in procfs: such a
/// read may block while a GPU is busy, and the daemon must not block.
[[nodiscard]] bool devices_complete(const base::Root& root);
/// Creates missing nodes, and their links in /dev/char, through which container runtimes find devices.
[[nodiscard]] base::Result<void> make_devices(const base::Root& root);

} // namespace gpuhost::kmod
