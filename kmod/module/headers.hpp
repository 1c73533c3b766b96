// SPDX-License-Identifier: Apache-2.0
// Checks what a build of modules for one kernel needs: complete headers of that kernel, and programs such as
// the compiler. The hints name all ways to the modules, for errors of builds and for plans alike.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns the problem of a kernel whose headers are not installed.
[[nodiscard]] core::Problem headers_not_found(const std::string& kernel);

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

/// Returns what a build for this kernel lacks: the problems of check_headers() and of check_tools().
[[nodiscard]] std::vector<core::Problem> build_problems(const base::Root& root, const std::string& kernel,
                                                        const base::Root& system);

/// Returns the hints of the problems in their order, each once, and the way without a build. With `command`,
/// the hint to run it follows those about the build. `runs`: the kernel of the modules is the running one.
[[nodiscard]] std::string ways_to_modules(const std::vector<core::Problem>& problems,
                                          const std::string& command, const std::string& version, bool runs);
/// Adds the way without a build to the hints, for problems that are shown one by one.
void add_way_without_build(std::vector<core::Problem>& problems, const std::string& version, bool runs);

} // namespace gpuhost::kmod
