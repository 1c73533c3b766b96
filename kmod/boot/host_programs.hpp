// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

namespace gpuhost::kmod {

/// Returns whether programs in this root may be run to change it: true only if it is the host's own root, not
/// a mounted system. Tests replace this function at link time, to run programs that they put into a directory
/// tree.
[[nodiscard]] bool runs_programs_of(const base::Root& root);

} // namespace gpuhost::kmod
