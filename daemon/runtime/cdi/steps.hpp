// SPDX-License-Identifier: Apache-2.0
// The steps by which containers get the driver that runs, and no other:
//
//   cdi.withdraw  Devices  takes what NVIDIA's operands wait for (validations.hpp) and our specifications away, so that no container begins with a driver that is about to go;
//                          undone, it publishes for whatever driver runs then
//   cdi.publish   Devices  writes them for the driver that is loaded and selected, where they are not right already; takes
//                          them away where none is loaded; then the same for NVIDIA's operands. What is in the way fails no change of a driver
//                          (cdi_publisher.hpp)
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/core/steps_around.hpp"
#include "daemon/runtime/cdi_settings.hpp"

namespace gpuhost::runtime {

void register_cdi_steps(core::StepKinds& kinds);

/// By itself: undone, it leaves what it wrote, which is as right as what was there.
[[nodiscard]] core::Step cdi_publish_step(const CdiSettings& settings, std::string summary = {});

/// For a change of the driver. Where CDI, and what operands wait for, is switched off what is still there goes.
[[nodiscard]] core::StepsAround cdi_steps_around(const core::Settings& settings);

} // namespace gpuhost::runtime
