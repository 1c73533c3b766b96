// SPDX-License-Identifier: Apache-2.0
// Implements org.freedesktop.LogControl1, for `systemctl service-log-level gpuhostd debug`.
#pragma once

#include "daemon/bus/object.hpp"

namespace gpuhost::bus {

/// Returns the interface. Its functions need no object: the log level and target are global in the process.
[[nodiscard]] const Interface& log_control() noexcept;

} // namespace gpuhost::bus
