// SPDX-License-Identifier: Apache-2.0
// Makes a module set out of built modules, wherever they came from: an import or our own compile.
#pragma once

#include "kmod/store/manifest.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

struct ModuleInput {
    int fd = -1;
    std::string name; ///< as the person named it: "nvidia.ko", "nvidia-uvm.ko.xz"
};

/// Unpacks and parses them, and leaves the set in the staging directory below /modules/. It must have
/// nvidia.ko, be for one kernel and one driver version; a mismatch is BadContent naming both sides.
/// `space` is what may be written.
[[nodiscard]] base::Result<Manifest> stage_modules(const base::Root& staging,
                                                   const std::vector<ModuleInput>& inputs,
                                                   std::uint64_t space,
                                                   const content::OnBytes& on_bytes = {});

} // namespace gpuhost::kmod
