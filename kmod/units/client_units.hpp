// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Which of these units of the system manager have processes, by their control groups: no question to
/// systemd, so that the daemon's loop can ask too.
[[nodiscard]] std::vector<std::string> active_units(const base::Root& root,
                                                    const std::vector<std::string>& units);

} // namespace gpuhost::kmod
