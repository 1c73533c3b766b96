// SPDX-License-Identifier: Apache-2.0
// Finds the file of a loaded module, for drivers that are not in gpuhost's store. An undo loads the module
// from this file again.
#pragma once

#include "daemon/base/root.hpp"
#include "kmod/module/kernel_state.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Returns the paths of all modules in the text of a modules.dep, unchanged: "kernel/drivers/gpu/drm/drm.ko".
[[nodiscard]] std::vector<std::string> indexed_modules(std::string_view modules_dep);

/// Returns the path of a file below /lib/modules/<kernel> with this module's name and srcversion. The name is
/// read from the file's content, because distributions rename files (nvidia-current.ko). Compressed files are
/// not found.
[[nodiscard]] std::optional<std::string> find_module_file(const base::Root& root, std::string_view kernel,
                                                          const LoadedModule& module);

/// Returns whether an undo can load the module again. This is true if find_module_file() finds its file. It
/// is also true if a compressed file has the module's name, because ModuleLoader::load_by_name() can load
/// this file.
[[nodiscard]] bool can_load_again(const base::Root& root, std::string_view kernel,
                                  const LoadedModule& module);

} // namespace gpuhost::kmod
