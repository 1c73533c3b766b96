// SPDX-License-Identifier: Apache-2.0
// What there is beside the driver that works with its very version alone: programs that would refuse to start after a swap,
// and libraries that no GPU needs. Where a package of the host's brings such a program, with its unit and its configuration,
// these stay the package's, and the unit alone is led to the program that came with the driver (unit_drop_in).
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// The unit of the locked part whose package this program is of; empty: it is of none.
[[nodiscard]] std::string_view unit_of_locked_part(std::string_view program);

/// Units whose program the host has a package of.
[[nodiscard]] std::vector<std::string> packaged_units(const base::Root& root);

/// For systemd to show `unit` its program from `directory` in place of the host's own, as long as it is there. The same whatever
/// driver is selected, so that going back needs no other one. Of the program alone: where the host's own file is missing, systemd
/// would make it.
[[nodiscard]] content::FileOperation unit_drop_in(std::string_view unit, const std::string& directory);

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
