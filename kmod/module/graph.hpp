// SPDX-License-Identifier: Apache-2.0
// Orders over the module graph. Pure: the graph is what the kernel and the module files say. Where it begins,
// loaded_driver() knows.
#pragma once

#include "daemon/base/result.hpp"
#include "kmod/module/goal.hpp"
#include "kmod/module/kernel_state.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Is this loaded module the one that `goal` names?
[[nodiscard]] bool is_as_wanted(const LoadedModule& loaded, const Goal& goal);

/// Every module before those it uses.
[[nodiscard]] std::vector<LoadedModule> unload_order(const std::vector<LoadedModule>& loaded);

/// What of `loaded` has to go for `goal`, leaf → root: all that differs, and all that holds something that
/// goes.
[[nodiscard]] std::vector<LoadedModule> to_unload(const std::vector<LoadedModule>& loaded, const Goal& goal);
/// Does the kernel lack a module of the goal's that is not optional? One that is coming is not there yet, and may hang.
[[nodiscard]] bool lacks(const std::vector<LoadedModule>& loaded, const Goal& goal);

/// Every module after those it depends on; dependencies outside of the set are not looked at. A circle is
/// BadContent.
[[nodiscard]] base::Result<std::vector<GoalModule>> load_order(const std::vector<GoalModule>& modules);

/// What the modules need from outside of their set ("drm_kms_helper"), each once, in order of need.
[[nodiscard]] std::vector<std::string> outside_dependencies(const std::vector<GoalModule>& modules);

} // namespace gpuhost::kmod
