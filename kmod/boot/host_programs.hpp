// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

namespace gpuhost::kmod {

/// Do the programs below this root run here, and what they change is that root? Not those of a mounted system. A seam at
/// link time: tests run what they have put into a tree.
[[nodiscard]] bool runs_programs_of(const base::Root& root);

} // namespace gpuhost::kmod
