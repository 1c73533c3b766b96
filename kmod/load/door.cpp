// SPDX-License-Identifier: Apache-2.0
#include "kmod/load/door.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::kmod {

std::string door_content(const std::vector<std::string>& modules) {
    std::vector<std::string> names = modules;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::string content = "# gpuhost is changing the driver; this file goes away when it is done.\n";
    for (const std::string& name : names)
        content += "softdep " + name + " pre:\ninstall " + name + " /bin/false\n";
    return content;
}

base::Result<void> shut_door(const base::Root& root, const std::vector<std::string>& modules) {
    GPUHOST_CHECK(root.make_directories(door_file.substr(0, door_file.rfind('/'))));
    GPUHOST_CHECK(root.write_atomic(door_file, door_content(modules)));
    // A long-running libkmod (udev's) reads its configuration again when one of its directories changes. It
    // knows only the directories that existed when it started; /run/modprobe.d usually did not. So this
    // changes the time of /etc/modprobe.d.
    if (const auto known = root.open_file("/etc/modprobe.d", O_RDONLY | O_DIRECTORY))
        (void)::futimens(known->get(), nullptr);
    return {};
}

base::Result<void> open_door(const base::Root& root) {
    return root.remove(door_file);
}

bool door_is_shut(const base::Root& root) {
    return root.exists(door_file);
}

} // namespace gpuhost::kmod
