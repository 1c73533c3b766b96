// SPDX-License-Identifier: Apache-2.0
// Step driver.take: the drivers that a bundle carries for this host become sets in the staging directory, as if a person
// had imported their files. Which hosts are meant the bundle says: by platform and GPU, and by kernel and flavour for
// built modules.
#pragma once

#include "daemon/core/step.hpp"

#include <vector>

namespace gpuhost::kmod {

[[nodiscard]] core::StepKind driver_take_kind();

/// The driver's part of each import of a bundle.
[[nodiscard]] std::vector<core::Step> bundle_import_steps();

} // namespace gpuhost::kmod
