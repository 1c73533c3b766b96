// SPDX-License-Identifier: Apache-2.0
// Blocks the automatic loading of a driver while gpuhost changes the driver. Without this, udev, a client of
// the driver or the setuid nvidia-modprobe might load it. A file in /run/modprobe.d has install commands that
// make modprobe run /bin/false instead of loading a module. gpuhost's own loader (loader.hpp) does not read
// modprobe's configuration. A reboot removes the file. However, modprobe ignores an install command for a
// module that has a softdep (modprobe.d(5)), such as nvidia in usual configurations of NVIDIA and vfio. If a
// module has several softdeps, the one in the first file by name is used. gpuhost's file has the first name
// and an empty softdep, so its install command is used.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

inline constexpr std::string_view autoload_block_file = "/run/modprobe.d/00-gpuhost-block.conf";

/// Returns the content of the file that blocks `modules`. block_autoload() writes it.
[[nodiscard]] std::string autoload_block_content(const std::vector<std::string>& modules);
[[nodiscard]] base::Result<void> block_autoload(const base::Root& root,
                                                const std::vector<std::string>& modules);
[[nodiscard]] base::Result<void> unblock_autoload(const base::Root& root);
/// Returns whether the file that blocks modules exists.
[[nodiscard]] bool autoload_blocked(const base::Root& root);

} // namespace gpuhost::kmod
