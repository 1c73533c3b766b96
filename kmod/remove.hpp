// SPDX-License-Identifier: Apache-2.0
// Steps store.remove and store.purge: a version leaves the store in one rename and is deleted after that.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// args: {"version"}
[[nodiscard]] core::StepKind remove_step();
[[nodiscard]] core::StepKind purge_step();

} // namespace gpuhost::kmod
