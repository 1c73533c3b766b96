// SPDX-License-Identifier: Apache-2.0
// Steps that change the blob store and its catalogue.
//
// An interrupted step leaves only blobs that no bundle in the catalogue owns. The next import uses or removes
// them.
#pragma once

#include "daemon/core/step.hpp"

#include <vector>

namespace gpuhost::images {

[[nodiscard]] std::vector<core::StepKind> bundle_step_kinds();
[[nodiscard]] std::vector<core::StepCode> bundle_step_code();

} // namespace gpuhost::images
