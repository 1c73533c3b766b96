// SPDX-License-Identifier: Apache-2.0
// Companion services: services such as nvidia-fabricmanager whose program works only with exactly its own
// version of the driver, and would not start after a swap. Their programs may be part of a userland in the
// store. If a package of the host has installed such a service too, the package's files stay unchanged. A
// drop-in then makes the unit run the program of the selected userland (unit_drop_in()). This file also
// checks the libraries that DCGM uses for NVSwitches, which have the same restriction.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Returns the unit of the companion service whose package contains this program:
/// "nvidia-fabricmanager.service" for "nv-fabricmanager". Empty if no such package contains it.
[[nodiscard]] std::string_view unit_of_companion_service(std::string_view program);

/// Returns the units of companion services whose program in /usr/bin was installed by a package of the host,
/// not by gpuhost.
[[nodiscard]] std::vector<std::string> packaged_units(const base::Root& root);

/// Returns the operation that writes the drop-in of a companion service's unit. For this unit only, systemd
/// then mounts the program in `directory` over the one in /usr/bin. If `directory` does not have the program,
/// systemd mounts nothing. Callers pass a path through the link `current`, so the drop-in is the same for
/// every selected driver. Only the main program is mounted: for a path that the host lacks, systemd would
/// create a file.
[[nodiscard]] content::FileOperation unit_drop_in(std::string_view unit, const std::string& directory);

/// Checks the companion services among `units`, which a swap starts again. Returns a problem for each whose
/// program is not of driver `version`. The program is the one in `userland` (a directory; empty: none), else
/// the one in /usr/bin.
[[nodiscard]] std::vector<core::Problem> check_companion_services(const base::Root& root,
                                                                  const std::string& userland,
                                                                  const std::string& version,
                                                                  const std::vector<std::string>& units);

/// Returns a sentence for each library of NVSwitches (libnvidia-nscq, libnvsdm) that is not of driver
/// `version`. DCGM does not find NVSwitches then. GPUs work nevertheless, so callers print warnings. Empty if
/// the host has no NVSwitches: none on PCI, and no fabric manager in `units`.
[[nodiscard]] std::vector<std::string> unfit_switch_libraries(const base::Root& root,
                                                              const std::string& userland,
                                                              const std::string& version,
                                                              const std::vector<std::string>& units);

} // namespace gpuhost::kmod
