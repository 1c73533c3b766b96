// SPDX-License-Identifier: Apache-2.0
// Blocks others from loading a driver during a change: udev, a client that autoloads, the setuid
// nvidia-modprobe. modprobe runs /bin/false in place of each module. Our own loader does not read modprobe's
// configuration. The file is in /run, so a reboot removes it.
// modprobe ignores an install command for a module that has a softdep (modprobe.d(5)); NVIDIA's and vfio's
// recipes give nvidia one. The first of several softdeps counts, in order of file names. This file's name
// sorts first, and its softdep is empty, so the install command counts.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

inline constexpr std::string_view autoload_block_file = "/run/modprobe.d/00-gpuhost-block.conf";

[[nodiscard]] std::string autoload_block_content(const std::vector<std::string>& modules);
[[nodiscard]] base::Result<void> block_autoload(const base::Root& root,
                                                const std::vector<std::string>& modules);
[[nodiscard]] base::Result<void> unblock_autoload(const base::Root& root);
[[nodiscard]] bool autoload_blocked(const base::Root& root);

} // namespace gpuhost::kmod
