// SPDX-License-Identifier: Apache-2.0
// Looks up and creates character devices. Tests replace these functions at link time: programs link
// kmod/device_node.cpp, tests link tests/support/fake_loader.cpp. The creation of device nodes needs
// privileges, and /proc/PID/fd in a test's directory tree cannot lead to a device.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>

#include <sys/types.h>

namespace gpuhost::kmod {

/// Returns the number of the character device `name` in the open directory `directory`. Follows symbolic
/// links, also those of /proc/PID/fd. Returns nothing for any other file.
[[nodiscard]] std::optional<dev_t> device_at(int directory, const char* name);

struct DeviceNode {
    std::string path; ///< "/dev/nvidia0"
    unsigned major = 0;
    unsigned minor = 0;
    mode_t mode = 0666;
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Returns whether `name` in the open directory `directory` is a character device with the number, mode and
/// owner of `node`.
[[nodiscard]] bool is_device_at(int directory, const char* name, const DeviceNode& node);

/// Creates the node at node.path, and replaces any file there. A symbolic link at that path is replaced, not
/// followed.
[[nodiscard]] base::Result<void> make_device(const base::Root& root, const DeviceNode& node);

} // namespace gpuhost::kmod
