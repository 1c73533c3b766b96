// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/base/root.hpp"

namespace gpuhost::ctl::dashboard {

/// Shows the dashboard on the terminal until the user quits. A signal ends the program after the terminal is
/// restored.
[[nodiscard]] base::Result<int> run(const base::Root& root, bool colour);

} // namespace gpuhost::ctl::dashboard
