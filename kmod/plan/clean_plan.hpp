// SPDX-License-Identifier: Apache-2.0
// What the driver store need not keep. Pure.
#pragma once

#include "kmod/plan/driver_plan.hpp"

namespace gpuhost::kmod {

/// Takes out versions older than the one in use that no installed kernel boots or goes back to, and that are not loaded or
/// pinned. Newer ones are there to be swapped to; where the version in use is not in the store all of them are. Of all versions
/// but pinned ones it takes out the module sets of kernels that are not installed, and what these would boot is forgotten.
[[nodiscard]] core::Plan clean_plan(const DriverSettings& settings, const Observed& observed);

} // namespace gpuhost::kmod
