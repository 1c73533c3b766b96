// SPDX-License-Identifier: Apache-2.0
// What there is beside the driver that works with its very version alone: programs that would refuse to start after a swap,
// and libraries that no GPU needs.
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

/// Of a host with NVSwitches, by itself or by the fabric manager among `units`: the libraries that DCGM sees these by and that
/// are not of `version`, each as a sentence. GPUs work all the same, so this is to be known, and in no swap's way.
[[nodiscard]] std::vector<std::string> unfit_switch_libraries(const base::Root& root,
                                                              const std::string& userland,
                                                              const std::string& version,
                                                              const std::vector<std::string>& units);

} // namespace gpuhost::kmod
