// SPDX-License-Identifier: Apache-2.0
// Makes a module set from files of built modules, which were imported or have just been compiled.
#pragma once

#include "kmod/store/manifest.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

struct ModuleInput {
    int fd = -1;      ///< not owned
    std::string name; ///< name for messages: "nvidia.ko", "nvidia-uvm.ko.xz"
};

/// Unpacks and parses the modules, and writes the set to /modules/<kernel>-<flavour> below `staging`. Fails
/// with BadContent if nvidia.ko is missing, or if the modules are not all for the same kernel and driver
/// version. `space` is the number of bytes that may be written.
[[nodiscard]] base::Result<Manifest> stage_modules(const base::Root& staging,
                                                   const std::vector<ModuleInput>& inputs,
                                                   std::uint64_t space,
                                                   const content::OnBytes& on_bytes = {});

} // namespace gpuhost::kmod
