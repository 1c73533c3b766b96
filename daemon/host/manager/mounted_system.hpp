// SPDX-License-Identifier: Apache-2.0
// An offline system: the host's own files, mounted by another system that was booted to repair it.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::host {

/// The kernel release that an offline system reports; it never equals that of an installed kernel.
inline constexpr const char* no_kernel = "none";
inline constexpr const char* rescue_place = "/run/gpuhost-rescue"; ///< where the offline system is mounted

/// Mounts the system at `directory`, with all mounts below it, at the returned path, for this process and its
/// children. Its /proc, /sys, /run and /dev are hidden by empty file systems in memory, since those mounted
/// there, if any, describe the running system. These report that no module is loaded and no program runs.
/// They and their mount namespace end with this process. Requires root; call before any thread is started.
/// Fails with InvalidArgument for the running system, and with NotFound for a directory that holds no system.
/// If `writable` is set, it fails with Refused on a read-only mount.
[[nodiscard]] base::Result<std::string> enter_mounted_system(const std::string& directory, bool writable);

} // namespace gpuhost::host
