// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

namespace gpuhost::kmod {

/// Returns whether the programs below this root can run here and change that same root. False for the mounted
/// root of another system. Replaced at link time: tests run programs that they put into a tree.
[[nodiscard]] bool runs_programs_of(const base::Root& root);

} // namespace gpuhost::kmod
