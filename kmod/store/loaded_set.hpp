// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kmod/module/kernel_state.hpp"
#include "kmod/store/store.hpp"

#include <string>

namespace gpuhost::kmod {

/// Returns the set that a loaded module of the running kernel (`kernel`) is probably from: the selected set
/// if it has a module with this name and srcversion, else the newest set for the kernel that has one. Returns
/// null if none has.
[[nodiscard]] const ModuleSet* loaded_set(const Store& store, const std::string& kernel,
                                          const LoadedModule& loaded);

/// Returns the file of a loaded module in a set; null if the set does not have it.
[[nodiscard]] const ModuleFile* file_of(const ModuleSet& set, const LoadedModule& loaded);

} // namespace gpuhost::kmod
