// SPDX-License-Identifier: Apache-2.0
// The step by which container runtimes are configured, or left as they were without us:
//
//   runtime.configure  Runtimes  as runtime_converge.hpp says; undone, it puts back what this transaction found
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/configure/converge.hpp"

namespace gpuhost::runtime {

void register_runtime_steps(core::StepKinds& kinds);
[[nodiscard]] core::Step runtime_step(const ConvergeRequest& request);

} // namespace gpuhost::runtime
