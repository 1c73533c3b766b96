// SPDX-License-Identifier: Apache-2.0
// Steps store.publish and store.verify: give the files that the parser staged to root and publish them
// unchanged, and check sets in the store.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// args: {} for everything that was staged, or {"version", "kernels"} that must be part of it. "protect":
/// versions that must not be part of it, else AccessDenied. "optional": success if nothing was staged.
[[nodiscard]] core::StepKind store_publish_kind();

/// args: {"versions": […]}
[[nodiscard]] core::StepKind store_verify_kind();

} // namespace gpuhost::kmod
