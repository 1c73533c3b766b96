// SPDX-License-Identifier: Apache-2.0
// Notifies the service manager. All of this does nothing if NOTIFY_SOCKET is unset.
#pragma once

#include <string_view>

namespace gpuhost::host::notify {

void ready(std::string_view status) noexcept;
void status(std::string_view text) noexcept; ///< one line for systemctl status
void reloading() noexcept;                   ///< ready() ends it
void stopping() noexcept;

} // namespace gpuhost::host::notify
