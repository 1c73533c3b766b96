// SPDX-License-Identifier: Apache-2.0
// Translates the kernel's errno for a module into an error for people: what happened, and what to do.
#pragma once

#include "daemon/base/error.hpp"

#include <string_view>

namespace gpuhost::kmod {

[[nodiscard]] base::Error load_error(std::string_view module, int error);
[[nodiscard]] base::Error unload_error(std::string_view module, int error);
/// Returns the error for `doing`, for example "unbinding the kernel's text console (vtcon1) from the driver".
[[nodiscard]] base::Error console_error(std::string_view doing, int error);
[[nodiscard]] base::Error hung_error(std::string_view doing);

} // namespace gpuhost::kmod
