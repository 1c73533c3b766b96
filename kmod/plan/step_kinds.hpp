// SPDX-License-Identifier: Apache-2.0
// The step kinds of the driver and of its store. kmod/plan/driver_plan.cpp has their order.
#pragma once

#include "daemon/core/step.hpp"

#include <vector>

namespace gpuhost::kmod {

[[nodiscard]] std::vector<core::StepKind> step_kinds();
[[nodiscard]] std::vector<core::StepCode> step_code();

} // namespace gpuhost::kmod
