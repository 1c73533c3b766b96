// SPDX-License-Identifier: Apache-2.0
// The door that keeps others from loading a driver while we change it: udev, a client that autoloads, the
// setuid nvidia-modprobe. modprobe runs /bin/false in place of each module. Our own loader does not read
// modprobe's configuration. The file lives in /run, so a reboot opens the door.
// An install command goes for nothing where the module has a softdep (modprobe.d(5)), as NVIDIA's and vfio's recipes give
// nvidia one. Of several the first counts, by the names of the files: this file's is empty, and its name comes first.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

inline constexpr std::string_view door_file = "/run/modprobe.d/00-gpuhost-door.conf";

[[nodiscard]] std::string door_content(const std::vector<std::string>& modules);
[[nodiscard]] base::Result<void> shut_door(const base::Root& root, const std::vector<std::string>& modules);
[[nodiscard]] base::Result<void> open_door(const base::Root& root);
[[nodiscard]] bool door_is_shut(const base::Root& root);

} // namespace gpuhost::kmod
