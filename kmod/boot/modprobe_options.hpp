// SPDX-License-Identifier: Apache-2.0
// Module options that an administrator or a package configured for modprobe(8).
#pragma once

#include "daemon/base/root.hpp"

#include <map>
#include <string>

namespace gpuhost::kmod {

/// Returns the options of modprobe.d(5) and of the kernel's command line by module, in the kernel's spelling:
/// "nvidia_uvm" → "uvm_disable_hmm=1". Lines that gpuhostd wrote itself (options_file) are left out.
[[nodiscard]] std::map<std::string, std::string> options_of_others(const base::Root& root);

} // namespace gpuhost::kmod
