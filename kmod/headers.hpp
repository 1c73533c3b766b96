// SPDX-License-Identifier: Apache-2.0
// What building for a kernel needs of the host: its headers, whole and of that kernel, and tools.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/step.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// All that is wrong with /lib/modules/<kernel>/build; none means that it can be built against.
[[nodiscard]] std::vector<core::Problem> check_headers(const base::Root& root, const std::string& kernel);

/// The compiler that these headers ask for ("gcc-12"), or "cc" if they name none.
[[nodiscard]] std::string wanted_compiler(const base::Root& root, const std::string& kernel);

/// Programs that are in none of `directories`, each as a problem.
[[nodiscard]] std::vector<core::Problem> check_tools(const std::vector<std::string>& programs,
                                                     const std::vector<std::string>& directories);

} // namespace gpuhost::kmod
