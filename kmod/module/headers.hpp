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

/// Programs that building for this kernel runs and `system` lacks, each as a problem. It is another than `root`, which has
/// the headers, where the programs of this machine build for a tree somewhere else.
[[nodiscard]] std::vector<core::Problem> check_tools(const base::Root& root, const std::string& kernel,
                                                     const base::Root& system);

} // namespace gpuhost::kmod
