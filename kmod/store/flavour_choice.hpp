// SPDX-License-Identifier: Apache-2.0
// Open or proprietary modules, by the GPUs of this host. Pure.
#pragma once

#include "daemon/core/plan.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::kmod {

struct FlavourChoice {
    std::string flavour; ///< "open", "proprietary", or "any": the open ones where there is a choice
    std::vector<std::string> reasons; ///< for the plan
    std::optional<core::Problem> problem;
};

/// `wanted` is Flavour= of the settings. "any" is proprietary where NVIDIA's list for this version says that the open modules
/// don't drive a GPU of this host; a problem where it says so of some of them only. What is stated is obeyed. A version that
/// came without a list leaves "any" as it is.
[[nodiscard]] FlavourChoice choose_flavour(const Store& store, const std::string& version,
                                           const std::string& wanted, const std::vector<PciGpu>& gpus);

/// The modules of `version` that a swap takes for `kernel` on this host; null where the store has none.
[[nodiscard]] const ModuleSet* modules_to_take(const Store& store, const std::string& version,
                                               const std::string& kernel, const std::string& wanted,
                                               const std::vector<PciGpu>& gpus);

} // namespace gpuhost::kmod
