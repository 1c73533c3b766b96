// SPDX-License-Identifier: Apache-2.0
// The lists of what the subsystems add to the programs: each function has a line for each subsystem.
#pragma once

#include "daemon/bus/object.hpp"
#include "daemon/core/component.hpp"
#include "daemon/core/step.hpp"

#include <memory>
#include <vector>

namespace gpuhost {

[[nodiscard]] core::StepKinds step_kinds();
[[nodiscard]] core::StepCodes step_code(); ///< defined in step_code.cpp; only workers link it
[[nodiscard]] std::vector<std::unique_ptr<core::Component>> make_components(const base::Root& root);
[[nodiscard]] std::vector<bus::BusObject> bus_objects(); ///< defined in bus_objects.cpp

} // namespace gpuhost
