// SPDX-License-Identifier: Apache-2.0
// Converts the errno with which the kernel refused an operation on a module to an error with a message and a
// hint.
#pragma once

#include "daemon/base/error.hpp"

#include <string_view>

namespace gpuhost::kmod {

[[nodiscard]] base::Error load_error(std::string_view module, int error);
[[nodiscard]] base::Error unload_error(std::string_view module, int error);
/// `doing` is the operation as text: "unbinding the kernel's text console (vtcon1) from the driver".
[[nodiscard]] base::Error console_error(std::string_view doing, int error);
[[nodiscard]] base::Error hung_error(std::string_view doing);

} // namespace gpuhost::kmod
