// SPDX-License-Identifier: Apache-2.0
// org.freedesktop.LogControl1: `systemctl service-log-level gpuhostd debug`.
#pragma once

#include "daemon/bus/object.hpp"

namespace gpuhost::bus {

/// Its functions need no object.
[[nodiscard]] const Interface& log_control() noexcept;

} // namespace gpuhost::bus
