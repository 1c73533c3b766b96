// SPDX-License-Identifier: Apache-2.0
// Steps store.remove and store.purge: remove a driver version from the store, or one of its module sets that
// is superseded or whose kernel was removed. store.remove moves the directory to .trash by one rename, which
// it can undo. store.purge deletes the files.
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

/// args: {"version"}; to remove only a module set, also {"kernel", "flavour", "digest"}
[[nodiscard]] core::StepCode store_remove_code();
[[nodiscard]] core::StepCode store_purge_code();

} // namespace gpuhost::kmod
