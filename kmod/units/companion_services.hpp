// SPDX-License-Identifier: Apache-2.0
// Parts beside the driver that work with its exact version alone: programs that would not start after a swap,
// and libraries without which GPUs work. If a package of the host installs such a program with its unit and
// configuration, these files stay as they are. Only the unit is redirected to the program that came with the
// driver (unit_drop_in).
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Returns the unit of the locked part to whose package this program belongs. Empty: none.
[[nodiscard]] std::string_view unit_of_locked_part(std::string_view program);

/// Returns the units whose program a package of the host installed.
[[nodiscard]] std::vector<std::string> packaged_units(const base::Root& root);

/// Returns the drop-in by which systemd shows `unit` its program from `directory` in place of the host's, if
/// it exists there. It is the same for every selected driver, so an undo needs no other one. It binds only
/// the main program: for a program that the host lacks, systemd would create a file to mount it on.
[[nodiscard]] content::FileOperation unit_drop_in(std::string_view unit, const std::string& directory);

/// Checks the units that a swap starts again. Each such program must be of `version`: the one in `userland`
/// (a directory; empty: none), which comes with the selection, else the host's own in /usr/bin.
[[nodiscard]] std::vector<core::Problem> check_companion_services(const base::Root& root,
                                                                  const std::string& userland,
                                                                  const std::string& version,
                                                                  const std::vector<std::string>& units);

/// Returns a sentence for each library that is not of `version` and by which DCGM sees NVSwitches. Empty on a
/// host without NVSwitches, which are found on PCI or by the fabric manager among `units`. GPUs work without
/// these libraries, so the sentences are warnings.
[[nodiscard]] std::vector<std::string> unfit_switch_libraries(const base::Root& root,
                                                              const std::string& userland,
                                                              const std::string& version,
                                                              const std::vector<std::string>& units);

} // namespace gpuhost::kmod
