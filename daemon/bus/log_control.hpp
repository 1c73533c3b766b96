// SPDX-License-Identifier: Apache-2.0
// Implements org.freedesktop.LogControl1, for `systemctl service-log-level gpuhostd debug`.
#pragma once

#include "daemon/bus/object.hpp"

namespace gpuhost::bus {

/// Returns an interface whose functions need no object.
[[nodiscard]] const Interface& log_control() noexcept;

} // namespace gpuhost::bus
