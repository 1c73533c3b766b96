// SPDX-License-Identifier: Apache-2.0
// org.freedesktop.LogControl1: `systemctl service-log-level gpuhostd debug`.
#pragma once

#include <systemd/sd-bus.h>

namespace gpuhost::bus {

inline constexpr const char* log_control_path = "/org/freedesktop/LogControl1";
inline constexpr const char* log_control_interface = "org.freedesktop.LogControl1";

[[nodiscard]] const sd_bus_vtable* log_control_vtable() noexcept;

} // namespace gpuhost::bus
