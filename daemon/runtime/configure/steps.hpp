// SPDX-License-Identifier: Apache-2.0
// The step that configures container runtimes, or restores their state without gpuhost:
//
//   runtime.configure  Runtimes  described in converge.hpp; undo restores what this transaction found
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/configure/converge.hpp"

namespace gpuhost::runtime {

[[nodiscard]] core::StepKind runtime_step_kind();
[[nodiscard]] core::StepCode runtime_step_code();
[[nodiscard]] core::Step runtime_step(const ConvergeRequest& request);

} // namespace gpuhost::runtime
