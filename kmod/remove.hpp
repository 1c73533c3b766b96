// SPDX-License-Identifier: Apache-2.0
// Steps store.remove and store.purge: a version leaves the store in one rename and is deleted after that.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// args: {"version"}
[[nodiscard]] core::StepKind store_remove_kind();
[[nodiscard]] core::StepKind store_purge_kind();

} // namespace gpuhost::kmod
