// SPDX-License-Identifier: Apache-2.0
// Returns paths of this installation's programs. It is a library of its own, so that no other object file
// depends on the installation path, and compiler caches work for all builds.
#pragma once

#include <string>
#include <string_view>

namespace gpuhost::base {

/// Returns the path of a program that is not in PATH: "/usr/libexec/gpuhost/NAME".
[[nodiscard]] std::string installed_program(std::string_view name);

} // namespace gpuhost::base
