// SPDX-License-Identifier: Apache-2.0
// Steps store.publish and store.verify: what the parser left in the staging directory becomes root's, and
// stays as it is.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// args: {} for whatever was staged, or {"version", "kernels"} for what must be among it.
[[nodiscard]] core::StepKind publish_step();

/// args: {"versions": […]}
[[nodiscard]] core::StepKind verify_step();

} // namespace gpuhost::kmod
