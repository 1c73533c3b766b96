// SPDX-License-Identifier: Apache-2.0
// Runs code of the vendor (NVML, CUDA) in a child process. Its threads, its mappings or a crash then do not
// affect the worker, which may have more steps to run.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <functional>
#include <string>

namespace gpuhost::kmod {

/// Runs `function` in a child process and returns its result. The child is killed when this process ends; it
/// has no other deadline. Fails with Failed if the child crashes; `what` is in the message. Callers must not
/// repeat the call then. Call it only in a process with one thread.
[[nodiscard]] base::Result<base::Json>
run_isolated(const std::string& what, const std::function<base::Result<base::Json>()>& function);

} // namespace gpuhost::kmod
