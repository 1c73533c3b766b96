// SPDX-License-Identifier: Apache-2.0
// Steps store.remove and store.purge: remove a version, or one of its module sets for a removed kernel. One
// rename moves it out of the store; its files are deleted after that.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// args: {"version"}, and for a module set also {"kernel", "flavour", "digest"}
[[nodiscard]] core::StepKind store_remove_kind();
[[nodiscard]] core::StepKind store_purge_kind();

} // namespace gpuhost::kmod
