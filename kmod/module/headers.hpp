// SPDX-License-Identifier: Apache-2.0
// The host's requirements for building for a kernel: complete headers of that kernel, and tools.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns all problems of /lib/modules/<kernel>/build. Empty: it can be built against.
[[nodiscard]] std::vector<core::Problem> check_headers(const base::Root& root, const std::string& kernel);

/// Returns the compiler that these headers name ("gcc-12"), else "cc".
[[nodiscard]] std::string wanted_compiler(const base::Root& root, const std::string& kernel);

/// Returns a problem for each program that a build for this kernel runs and `system` lacks. `system` differs
/// from `root`, which has the headers, if this machine's programs build for another tree.
[[nodiscard]] std::vector<core::Problem> check_tools(const base::Root& root, const std::string& kernel,
                                                     const base::Root& system);

} // namespace gpuhost::kmod
