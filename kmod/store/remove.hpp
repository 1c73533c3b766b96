// SPDX-License-Identifier: Apache-2.0
// Steps store.remove and store.purge: a version, or one module set of it for a kernel that is gone, leaves the store in one
// rename and is deleted after that.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// args: {"version"}, and of a module set also {"kernel", "flavour", "digest"}
[[nodiscard]] core::StepKind store_remove_kind();
[[nodiscard]] core::StepKind store_purge_kind();

} // namespace gpuhost::kmod
