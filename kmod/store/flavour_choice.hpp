// SPDX-License-Identifier: Apache-2.0
// Chooses open or proprietary modules by the GPUs of this host. Pure.
#pragma once

#include "daemon/core/plan.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::kmod {

struct FlavourChoice {
    std::string flavour;              ///< "open", "proprietary", or "any": prefer the open ones
    std::vector<std::string> reasons; ///< for the plan
    std::optional<core::Problem> problem;
};

/// Chooses the flavour. `wanted` is Flavour= of the settings; "open" and "proprietary" are obeyed. "any"
/// becomes "proprietary" if NVIDIA's list for this version says that the open modules drive none of this
/// host's GPUs. It is a problem if they drive only some of them. Without a list "any" stays.
[[nodiscard]] FlavourChoice choose_flavour(const Store& store, const std::string& version,
                                           const std::string& wanted, const std::vector<PciGpu>& gpus);

/// Returns the modules of `version` that a swap uses for `kernel` on this host; null if the store has none.
[[nodiscard]] const ModuleSet* modules_to_import(const Store& store, const std::string& version,
                                                 const std::string& kernel, const std::string& wanted,
                                                 const std::vector<PciGpu>& gpus);

} // namespace gpuhost::kmod
