// SPDX-License-Identifier: Apache-2.0
// Steps store.publish and store.verify: give the files that the parser staged to root and publish them
// unchanged, and check sets in the store.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// args: {} for whatever was staged, or {"version", "kernels"} that must be among it; {"optional"}: nothing
/// staged is not an error.
[[nodiscard]] core::StepKind store_publish_kind();

/// args: {"versions": […]}
[[nodiscard]] core::StepKind store_verify_kind();

} // namespace gpuhost::kmod
