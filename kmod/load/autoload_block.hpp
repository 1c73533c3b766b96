// SPDX-License-Identifier: Apache-2.0
// Blocks the automatic loading of a driver while it is changed: by udev, by a client of the driver, by the
// setuid nvidia-modprobe. A file for modprobe makes it run /bin/false instead of loading a module. gpuhost's
// own loader (loader.hpp) does not read modprobe's configuration. The file is in /run, so a reboot removes
// it. However, modprobe ignores an install command for a module that has a softdep (modprobe.d(5)), such as
// nvidia in usual configurations of NVIDIA and vfio. If a module has several softdeps, the one in the first
// file by name is used. This file has the first name, and an empty softdep, so the install command is used.
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
/// Returns whether the file exists.
[[nodiscard]] bool autoload_blocked(const base::Root& root);

} // namespace gpuhost::kmod
