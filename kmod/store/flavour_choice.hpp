// SPDX-License-Identifier: Apache-2.0
// Chooses the flavour of kernel modules, open or proprietary, by the GPUs of this host. Pure.
#pragma once

#include "daemon/core/plan.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/store/store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::kmod {

struct FlavourChoice {
    /// "open", "proprietary", or "any": the open modules if the store has them, else the proprietary ones.
    std::string flavour;
    std::vector<std::string> reasons; ///< sentences for the plan
    std::optional<core::Problem> problem;
};

/// Chooses the flavour for driver `version`. `wanted` is Flavour= of the settings; "open" and "proprietary"
/// are returned unchanged. For "any", NVIDIA's list of GPUs (supported_gpus.hpp) of this version decides. If
/// the open modules drive none of this host's GPUs, the result is "proprietary". If they drive only some, the
/// result has a problem. Else, and without a list, the result is "any".
[[nodiscard]] FlavourChoice choose_flavour(const Store& store, const std::string& version,
                                           const std::string& wanted, const std::vector<PciGpu>& gpus);

/// Returns the module set of `version` that a swap would use for `kernel` on this host. `wanted` and `gpus`
/// are as for choose_flavour(). Returns null if the store has none.
[[nodiscard]] const ModuleSet* modules_to_use(const Store& store, const std::string& version,
                                              const std::string& kernel, const std::string& wanted,
                                              const std::vector<PciGpu>& gpus);

} // namespace gpuhost::kmod
