// SPDX-License-Identifier: Apache-2.0
// Finds the kernels that are installed on a host or on a mounted system.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::base {

/// Returns whether `kernel` is a kernel release whose own files are in /lib/modules/<kernel>. The directory
/// alone is not enough: after the kernel's package is removed, it remains with modules of DKMS or with
/// gpuhost's link in updates/.
[[nodiscard]] bool kernel_is_installed(const Root& root, const std::string& kernel);
/// Returns the releases of all installed kernels, sorted.
[[nodiscard]] std::vector<std::string> installed_kernels(const Root& root);

} // namespace gpuhost::base
