// SPDX-License-Identifier: Apache-2.0
// A system that does not run: the host's own files, mounted by another one that was booted to mend it.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::host {

/// The kernel that such a system says it runs: no release of a kernel that is installed.
inline constexpr const char* no_kernel = "none";
inline constexpr const char* rescue_place = "/run/gpuhost-rescue"; ///< where it is seen

/// Has this process and its children see the system at `directory` below the path that comes back, with all that is mounted in
/// it, but with /proc, /sys, /run and /dev of their own: those that are there, if any, are of the system that runs. Ours are
/// in memory and say that no module is loaded and no program runs. They, and the mount namespace that they are in, end with
/// this process. For root; before any thread is started. `writable`: fails where it can't be written.
[[nodiscard]] base::Result<std::string> enter_mounted_system(const std::string& directory, bool writable);

} // namespace gpuhost::host
