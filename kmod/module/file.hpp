// SPDX-License-Identifier: Apache-2.0
// The file that a loaded module came from, for drivers that are not in the store: what a rollback loads
// again.
#pragma once

#include "daemon/base/root.hpp"
#include "kmod/module/kernel_state.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Paths of all modules in `modules_dep`, as they stand there ("kernel/drivers/gpu/drm/drm.ko").
[[nodiscard]] std::vector<std::string> indexed_modules(std::string_view modules_dep);

/// A file below /lib/modules/<kernel> with this module's name and srcversion. Distributions rename files
/// (nvidia-current.ko), so the name is what the file says inside. Compressed files are not looked into.
[[nodiscard]] std::optional<std::string> find_module_file(const base::Root& root, std::string_view kernel,
                                                          const LoadedModule& module);

/// Is there such a file, or one of its name that is compressed, which only libkmod looks into?
[[nodiscard]] bool can_load_again(const base::Root& root, std::string_view kernel,
                                  const LoadedModule& module);

} // namespace gpuhost::kmod
