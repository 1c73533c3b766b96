// SPDX-License-Identifier: Apache-2.0
// A child for the vendor's code: what it leaves behind, threads, mappings or a crash, is not for what this worker does next.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/result.hpp"

#include <functional>
#include <string>

namespace gpuhost::kmod {

/// What `function` returns there. It dies with this process, and has no deadline of its own. `what` is in the error of one
/// that crashes, which is Failed: who crashed once in a validation is not asked again. Only from a process with one thread.
[[nodiscard]] base::Result<base::Json> run_apart(const std::string& what,
                                                 const std::function<base::Result<base::Json>()>& function);

} // namespace gpuhost::kmod
