// SPDX-License-Identifier: Apache-2.0
// Finds the file from which a loaded module came, for drivers that are not in the store: an undo loads it
// again.
#pragma once

#include "daemon/base/root.hpp"
#include "kmod/module/kernel_state.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Returns the paths of all modules in `modules_dep`, unchanged ("kernel/drivers/gpu/drm/drm.ko").
[[nodiscard]] std::vector<std::string> indexed_modules(std::string_view modules_dep);

/// Returns a file below /lib/modules/<kernel> with this module's name and srcversion. Distributions rename
/// files (nvidia-current.ko), so the name is read from the file. Compressed files are not read.
[[nodiscard]] std::optional<std::string> find_module_file(const base::Root& root, std::string_view kernel,
                                                          const LoadedModule& module);

/// Returns whether there is such a file, or a compressed one of that name, which only libkmod can read.
[[nodiscard]] bool can_load_again(const base::Root& root, std::string_view kernel,
                                  const LoadedModule& module);

} // namespace gpuhost::kmod
