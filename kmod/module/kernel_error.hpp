// SPDX-License-Identifier: Apache-2.0
// The kernel's errno for a module as a person can use it: what happened, and what to do.
#pragma once

#include "daemon/base/error.hpp"

#include <string_view>

namespace gpuhost::kmod {

[[nodiscard]] base::Error load_error(std::string_view module, int error);
[[nodiscard]] base::Error unload_error(std::string_view module, int error);
/// `doing`: "taking the kernel's text console (vtcon1) off the driver"
[[nodiscard]] base::Error console_error(std::string_view doing, int error);
[[nodiscard]] base::Error hung_error(std::string_view doing);

} // namespace gpuhost::kmod
