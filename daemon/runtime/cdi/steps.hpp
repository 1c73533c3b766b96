// SPDX-License-Identifier: Apache-2.0
// Steps that give containers the current driver and no other:
//
//   cdi.withdraw  Devices  removes the operands' validation files (validations.hpp) and gpuhost's
//                          specifications. No container then starts with a driver that is about to be
//                          removed. Undo publishes for the driver that is loaded then.
//   cdi.publish   Devices  writes the specifications of the loaded and selected driver if they are not
//                          current. Removes them if no driver is loaded. Then updates the validation files.
//                          Obstacles do not fail a driver change (publisher.hpp).
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/core/steps_around.hpp"
#include "daemon/runtime/cdi_settings.hpp"

namespace gpuhost::runtime {

[[nodiscard]] std::vector<core::StepKind> cdi_step_kinds();
[[nodiscard]] std::vector<core::StepCode> cdi_step_code();

/// Returns the step cdi.publish for a plan that does not change the driver. Its undo does nothing: the new
/// files are as correct as the earlier ones.
[[nodiscard]] core::Step cdi_publish_step(const CdiSettings& settings, std::string summary = {});

/// Returns the steps for a plan that changes the driver. If CDI or the validation files are switched off, the
/// steps remove remaining files.
[[nodiscard]] core::StepsAround cdi_steps_around(const core::Settings& settings);

} // namespace gpuhost::runtime
