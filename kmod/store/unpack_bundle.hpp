// SPDX-License-Identifier: Apache-2.0
// Step driver.unpack: makes sets in the staging directory from a bundle's drivers for this host, as an import
// of their files does. The bundle declares the hosts: by platform and GPU, and for built modules by kernel
// and flavour.
#pragma once

#include "daemon/core/step.hpp"

#include <vector>

namespace gpuhost::kmod {

[[nodiscard]] core::StepKind driver_unpack_kind();

/// Returns the driver's steps of each import of a bundle.
[[nodiscard]] std::vector<core::Step> bundle_import_steps();

} // namespace gpuhost::kmod
