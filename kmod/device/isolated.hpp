// SPDX-License-Identifier: Apache-2.0
// Runs the vendor's code in a child process. Its threads, mappings or a crash then do not affect what this
// worker does next.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/result.hpp"

#include <functional>
#include <string>

namespace gpuhost::kmod {

/// Returns the result of `function`, which runs in a child process. The child dies with this process and has
/// no deadline of its own. A crash returns Failed, with `what` in the message; callers must not retry. Call
/// only from a process with one thread.
[[nodiscard]] base::Result<base::Json>
run_isolated(const std::string& what, const std::function<base::Result<base::Json>()>& function);

} // namespace gpuhost::kmod
