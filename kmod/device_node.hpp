// SPDX-License-Identifier: Apache-2.0
// Character devices. Replaced at link time, like kmod/load/loader.hpp, because creating nodes needs
// privileges and a tree's /proc/PID/fd cannot lead to a device. Linked from kmod/device_node.cpp or
// tests/support/fake_loader.cpp.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>

#include <sys/types.h>

namespace gpuhost::kmod {

/// Returns the device to which `name` in `directory` leads. Follows links, also procfs's magic ones. Returns
/// nothing if it is not a character device.
[[nodiscard]] std::optional<dev_t> device_at(int directory, const char* name);

struct DeviceNode {
    std::string path; ///< "/dev/nvidia0"
    unsigned major = 0;
    unsigned minor = 0;
    mode_t mode = 0666;
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Returns whether `name` in `directory` is this device, with this mode and owner.
[[nodiscard]] bool is_device_at(int directory, const char* name, const DeviceNode& node);

/// Creates the node in place of any file of that name. Does not follow links.
[[nodiscard]] base::Result<void> make_device(const base::Root& root, const DeviceNode& node);

} // namespace gpuhost::kmod
