// SPDX-License-Identifier: Apache-2.0
// Checks what a build of modules for one kernel needs: complete headers of that kernel, and programs such as
// the compiler.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns all problems of the kernel's headers in /lib/modules/<kernel>/build. Empty: modules can be built
/// with them.
[[nodiscard]] std::vector<core::Problem> check_headers(const base::Root& root, const std::string& kernel);

/// Returns the compiler with which the kernel was built, according to its headers ("gcc-12"). Returns "cc" if
/// they name none.
[[nodiscard]] std::string wanted_compiler(const base::Root& root, const std::string& kernel);

/// Returns a problem for each program that a build for this kernel runs and that is not installed in
/// `system`. `root` has the headers. Both are the same unless programs of this machine build for a mounted
/// system.
[[nodiscard]] std::vector<core::Problem> check_tools(const base::Root& root, const std::string& kernel,
                                                     const base::Root& system);

} // namespace gpuhost::kmod
