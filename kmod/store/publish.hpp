// SPDX-License-Identifier: Apache-2.0
// Steps store.publish and store.verify: what the parser left in the staging directory becomes root's, and
// stays as it is.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// args: {} for whatever was staged, or {"version", "kernels"} for what must be among it; {"optional"}: if anything.
[[nodiscard]] core::StepKind store_publish_kind();

/// args: {"versions": […]}
[[nodiscard]] core::StepKind store_verify_kind();

} // namespace gpuhost::kmod
