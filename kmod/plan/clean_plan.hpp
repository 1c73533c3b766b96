// SPDX-License-Identifier: Apache-2.0
// Plans what can be removed from the driver store. Pure.
#pragma once

#include "kmod/plan/driver_plan.hpp"

namespace gpuhost::kmod {

/// Removes versions older than the one in use that are not loaded, not pinned, and that no installed kernel
/// boots or rolls back to. Newer versions stay as targets of a swap. All versions stay if the version in use
/// is not in the store. Also removes the module sets of kernels that are not installed, except those of
/// pinned versions, and the files that such kernels would boot.
[[nodiscard]] core::Plan clean_plan(const DriverSettings& settings, const Observed& observed);

} // namespace gpuhost::kmod
