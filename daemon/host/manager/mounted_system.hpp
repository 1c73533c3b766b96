// SPDX-License-Identifier: Apache-2.0
// Access to a mounted system: the root file system of a host that does not boot. The rescue system, which
// runs instead, has mounted this file system.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::host {

/// The kernel release that is reported for a mounted system. No installed kernel has this release.
inline constexpr const char* no_kernel = "none";
inline constexpr const char* rescue_place = "/run/gpuhost-rescue"; ///< mount point for the mounted system

/// Bind-mounts the system at `directory`, with all mounts below it, at the returned path, for this process
/// and its children only. Hides the /proc, /sys, /run and /dev of the mounted system with empty tmpfs mounts,
/// because any file system mounted there describes the running system. The new /proc reports that no module
/// is loaded and no process runs. The mount namespace ends with this process. Requires root; call it before
/// any thread is started. Fails with InvalidArgument if `directory` is the running system, and with NotFound
/// if `directory` holds no system. If `writable` is set, fails with Refused on a read-only mount.
[[nodiscard]] base::Result<std::string> enter_mounted_system(const std::string& directory, bool writable);

} // namespace gpuhost::host
