// SPDX-License-Identifier: Apache-2.0
// Orders over the module graph. Pure: the graph is that of the kernel and the module files. loaded_driver()
// gives its starting points.
#pragma once

#include "daemon/base/result.hpp"
#include "kmod/module/goal.hpp"
#include "kmod/module/kernel_state.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns whether this loaded module is the one that `goal` names.
[[nodiscard]] bool is_as_wanted(const LoadedModule& loaded, const ModuleGoal& goal);

/// Returns every module before those that it uses.
[[nodiscard]] std::vector<LoadedModule> unload_order(const std::vector<LoadedModule>& loaded);

/// Returns the modules of `loaded` that must be unloaded for `goal`, from leaf to root: each that differs,
/// and each that uses one of them.
[[nodiscard]] std::vector<LoadedModule> to_unload(const std::vector<LoadedModule>& loaded,
                                                  const ModuleGoal& goal);
/// Returns whether a required module of the goal is not live. A module that is still loading counts as
/// missing, because it may hang.
[[nodiscard]] bool lacks(const std::vector<LoadedModule>& loaded, const ModuleGoal& goal);

/// Returns every module after those that it depends on. Dependencies outside the set are ignored. Fails with
/// BadContent on a cycle.
[[nodiscard]] base::Result<std::vector<GoalModule>> load_order(const std::vector<GoalModule>& modules);

/// Returns the dependencies outside the set ("drm_kms_helper"), each once, in order of first use.
[[nodiscard]] std::vector<std::string> outside_dependencies(const std::vector<GoalModule>& modules);

} // namespace gpuhost::kmod
