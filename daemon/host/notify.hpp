// SPDX-License-Identifier: Apache-2.0
// Notifications to systemd (sd_notify). All functions do nothing if NOTIFY_SOCKET is unset.
#pragma once

#include <string_view>

namespace gpuhost::host::notify {

void ready(std::string_view status) noexcept;
void status(std::string_view text) noexcept; ///< shown by systemctl status; one line
void reloading() noexcept;                   ///< the caller ends the reload with ready()
void stopping() noexcept;

} // namespace gpuhost::host::notify
