// SPDX-License-Identifier: Apache-2.0
// Plans the request "clean": what can be removed from the driver store. Pure.
#pragma once

#include "kmod/plan/driver_plan.hpp"

namespace gpuhost::kmod {

/// Plans to remove each version that is older than the version in use (version_in_use()), not loaded and not
/// pinned. A version stays if an installed kernel boots it or can roll back to it. Newer versions stay,
/// because a swap to them may follow. All versions stay if the version in use is not in the store. Also plans
/// to remove superseded module sets that are not loaded and that no installed kernel boots or rolls back to,
/// and module sets for kernels that are not installed, except those of pinned versions, and the selections of
/// such kernels.
[[nodiscard]] core::Plan clean_plan(const DriverSettings& settings, const Observed& observed);

} // namespace gpuhost::kmod
