// SPDX-License-Identifier: Apache-2.0
// Character devices. With kmod/load/loader.hpp the part of the kernel that tests play: making nodes needs
// privileges, and a tree's /proc/PID/fd can't lead to a device. Linked from kmod/device_node.cpp or
// tests/support/fake_loader.cpp.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>

#include <sys/types.h>

namespace gpuhost::kmod {

/// The device that `name` in `directory` leads to, links (and procfs's magic ones) followed; nothing if it is
/// no character device.
[[nodiscard]] std::optional<dev_t> device_at(int directory, const char* name);

struct DeviceNode {
    std::string path; ///< "/dev/nvidia0"
    unsigned major = 0;
    unsigned minor = 0;
    mode_t mode = 0666;
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Is `name` in `directory` this device, with this mode and owner?
[[nodiscard]] bool is_device_at(int directory, const char* name, const DeviceNode& node);

/// Puts the node there, in place of whatever had its name, never through a link.
[[nodiscard]] base::Result<void> make_device(const base::Root& root, const DeviceNode& node);

} // namespace gpuhost::kmod
