// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns those units of the system's systemd in `units` that have processes, by their control groups. Does
/// not query systemd, so that the daemon can call it without blocking.
[[nodiscard]] std::vector<std::string> active_units(const base::Root& root,
                                                    const std::vector<std::string>& units);

} // namespace gpuhost::kmod
