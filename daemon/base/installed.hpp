// SPDX-License-Identifier: Apache-2.0
// Where this installation's own programs are. A library of its own: no other object depends on where it is installed, so
// that compilers' caches serve them to every build.
#pragma once

#include <string>
#include <string_view>

namespace gpuhost::base {

/// The path of a program that is in nobody's PATH: "/usr/libexec/gpuhost/NAME".
[[nodiscard]] std::string installed_program(std::string_view name);

} // namespace gpuhost::base
