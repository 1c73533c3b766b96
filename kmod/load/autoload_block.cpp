// SPDX-License-Identifier: Apache-2.0
#include "kmod/load/autoload_block.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::kmod {
namespace {

/// The file's name in builds before 0.1.0. A worker of such a build may still write it while the package is
/// upgraded.
constexpr std::string_view former_file = "/run/modprobe.d/00-gpuhost-door.conf";

} // namespace

std::string autoload_block_content(const std::vector<std::string>& modules) {
    std::vector<std::string> names = modules;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::string content = "# gpuhost is changing the driver, and removes this file afterwards.\n";
    for (const std::string& name : names)
        content += "softdep " + name + " pre:\ninstall " + name + " /bin/false\n";
    return content;
}

base::Result<void> block_autoload(const base::Root& root, const std::vector<std::string>& modules) {
    GPUHOST_CHECK(root.make_directories(autoload_block_file.substr(0, autoload_block_file.rfind('/'))));
    GPUHOST_CHECK(root.write_atomic(autoload_block_file, autoload_block_content(modules)));
    // udev uses libkmod, which reads modprobe's configuration again when the time of one of its directories
    // changes. It checks only directories that existed when udev started, and /run/modprobe.d usually did
    // not. Therefore this changes the time of /etc/modprobe.d.
    if (const auto known = root.open_file("/etc/modprobe.d", O_RDONLY | O_DIRECTORY))
        (void)::futimens(known->get(), nullptr);
    return {};
}

base::Result<void> unblock_autoload(const base::Root& root) {
    GPUHOST_CHECK(root.remove(former_file));
    return root.remove(autoload_block_file);
}

bool autoload_blocked(const base::Root& root) {
    return root.exists(autoload_block_file) || root.exists(former_file);
}

} // namespace gpuhost::kmod
