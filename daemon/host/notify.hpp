// SPDX-License-Identifier: Apache-2.0
// What the service manager is told. Without one (NOTIFY_SOCKET unset) all of this does nothing.
#pragma once

#include <string_view>

namespace gpuhost::host::notify {

void ready(std::string_view status) noexcept;
void status(std::string_view text) noexcept; ///< one line for systemctl status
void reloading() noexcept;                   ///< ready() ends it
void stopping() noexcept;

} // namespace gpuhost::host::notify
