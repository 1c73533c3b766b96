// SPDX-License-Identifier: Apache-2.0
// Reads the module options that an administrator or a package has configured for modprobe(8). gpuhost's
// loader does not read them itself.
#pragma once

#include "daemon/base/root.hpp"

#include <map>
#include <string>

namespace gpuhost::kmod {

/// Returns the options in modprobe.d(5) and on the kernel's command line, by module: "nvidia_uvm" →
/// "uvm_disable_hmm=1". Module names have underscores. Options that gpuhost wrote to options_file are left
/// out.
[[nodiscard]] std::map<std::string, std::string> options_of_others(const base::Root& root);

} // namespace gpuhost::kmod
