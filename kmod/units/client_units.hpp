// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns which of these units of the system manager have processes, from their control groups. Does not ask
/// systemd, so the daemon's loop may call it too.
[[nodiscard]] std::vector<std::string> active_units(const base::Root& root,
                                                    const std::vector<std::string>& units);

} // namespace gpuhost::kmod
