// SPDX-License-Identifier: Apache-2.0
// The driver's nodes in /dev, which no module makes itself: names, numbers and permissions as nvidia-modprobe
// has them.
#pragma once

#include "kmod/device_node.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// What the driver asks for in /proc/driver/nvidia/params.
struct DeviceRules {
    bool modify = true; ///< NVreg_ModifyDeviceFiles: false means hands off
    mode_t mode = 0666;
    uid_t uid = 0;
    gid_t gid = 0;
};
[[nodiscard]] DeviceRules parse_device_rules(std::string_view params);

/// "Device Minor: \t 0" of a GPU's information file; -1 if it does not say.
[[nodiscard]] int parse_gpu_minor(std::string_view information);

/// All nodes that the loaded modules serve; none if the driver wants them left alone.
[[nodiscard]] std::vector<DeviceNode> wanted_devices(const base::Root& root);
/// Those that lack, or have another number, mode or owner.
[[nodiscard]] std::vector<DeviceNode> missing_devices(const base::Root& root);
/// /dev/nvidia0 and the like, those that lead to a GPU.
[[nodiscard]] std::vector<std::string> gpu_nodes(const base::Root& root);
/// As missing_devices() is empty, without asking the driver about its GPUs: that can wait for a busy one, and
/// the daemon must not.
[[nodiscard]] bool devices_look_complete(const base::Root& root);
/// Makes what is missing, and the links in /dev/char by which containers are given devices.
[[nodiscard]] base::Result<void> make_devices(const base::Root& root);

} // namespace gpuhost::kmod
