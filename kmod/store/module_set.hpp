// SPDX-License-Identifier: Apache-2.0
// Makes a module set from built modules, imported or compiled here.
#pragma once

#include "kmod/store/manifest.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

struct ModuleInput {
    int fd = -1;
    std::string name; ///< as the user named it: "nvidia.ko", "nvidia-uvm.ko.xz"
};

/// Unpacks and parses the modules, and writes the set to the staging directory below /modules/. The modules
/// must include nvidia.ko and be for one kernel and one driver version. A mismatch is BadContent with both
/// values. `space` is the number of bytes that may be written.
[[nodiscard]] base::Result<Manifest> stage_modules(const base::Root& staging,
                                                   const std::vector<ModuleInput>& inputs,
                                                   std::uint64_t space,
                                                   const content::OnBytes& on_bytes = {});

} // namespace gpuhost::kmod
