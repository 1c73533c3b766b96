// SPDX-License-Identifier: Apache-2.0
// Programs beside the driver that run with its very version alone: they would refuse to start after a swap.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Of the units that a swap starts again: each such program must be of `version`, be it the one in `userland` (a directory;
/// empty: none), which comes with the selection, or the host's own in /usr/bin.
[[nodiscard]] std::vector<core::Problem> check_locked_parts(const base::Root& root,
                                                            const std::string& userland,
                                                            const std::string& version,
                                                            const std::vector<std::string>& units);

} // namespace gpuhost::kmod
