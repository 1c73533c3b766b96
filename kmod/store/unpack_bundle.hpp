// SPDX-License-Identifier: Apache-2.0
// Step driver.unpack: makes sets in the staging directory from the drivers in a received bundle that are for
// this host. It does the same as an import of their files. The bundle's manifest states the platform and the
// GPUs that a driver is for. For built modules, it also states the kernel and the flavour.
#pragma once

#include "daemon/core/step.hpp"

#include <vector>

namespace gpuhost::kmod {

[[nodiscard]] core::StepCode driver_unpack_code();

/// Returns the driver's steps in the plan that imports a bundle: driver.unpack and store.publish.
[[nodiscard]] std::vector<core::Step> bundle_import_steps();

} // namespace gpuhost::kmod
