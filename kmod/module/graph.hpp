// SPDX-License-Identifier: Apache-2.0
// Computes which modules must be loaded and unloaded, and in which order. The functions are pure: their
// arguments are the loaded modules, as loaded_driver() returns them, and a goal.
#pragma once

#include "daemon/base/result.hpp"
#include "kmod/module/goal.hpp"
#include "kmod/module/kernel_state.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns whether `goal` contains this loaded module, with its version and srcversion.
[[nodiscard]] bool is_as_wanted(const LoadedModule& loaded, const ModuleGoal& goal);

/// Returns the modules in the order in which they can be unloaded: each before the modules that it uses.
[[nodiscard]] std::vector<LoadedModule> unload_order(const std::vector<LoadedModule>& loaded);

/// Returns the modules of `loaded` that must be unloaded to reach `goal`, in unload_order(). These are all
/// that is_as_wanted() rejects, and all that use one of these.
[[nodiscard]] std::vector<LoadedModule> to_unload(const std::vector<LoadedModule>& loaded,
                                                  const ModuleGoal& goal);
/// Returns whether a module of the goal that is not optional is missing in `loaded`. A module that is still
/// loading counts as missing, because its load may hang.
[[nodiscard]] bool lacks(const std::vector<LoadedModule>& loaded, const ModuleGoal& goal);

/// Returns the modules in the order in which they can be loaded: each after those that it depends on.
/// Dependencies that are not in `modules` are ignored. Fails with BadContent for a cycle.
[[nodiscard]] base::Result<std::vector<GoalModule>> load_order(const std::vector<GoalModule>& modules);

/// Returns the dependencies of `modules` that are not in `modules` ("drm_kms_helper"), each once, in order of
/// first use.
[[nodiscard]] std::vector<std::string> outside_dependencies(const std::vector<GoalModule>& modules);

} // namespace gpuhost::kmod
