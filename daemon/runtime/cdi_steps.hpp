// SPDX-License-Identifier: Apache-2.0
// The steps by which containers get the driver that runs, and no other:
//
//   cdi.withdraw  Devices  takes our specifications away, so that no container begins with a driver that is about to go
//   cdi.publish   Devices  writes them for the driver that is loaded and selected; none where it serves no GPU
//
// Each is the other's undo. Files have the names under which NVIDIA's own tools write theirs: two files with the same
// devices in one directory would take all of them away, and so who writes last replaces the other.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/core/steps_around.hpp"
#include "daemon/runtime/cdi_settings.hpp"

namespace gpuhost::runtime {

void register_cdi_steps(core::StepKinds& kinds);

[[nodiscard]] core::Step cdi_publish_step(const CdiSettings& settings);
[[nodiscard]] core::Step cdi_withdraw_step(const CdiSettings& settings);

/// For a change of the driver; none where CDI is switched off.
[[nodiscard]] core::StepsAround cdi_steps_around(const core::Settings& settings);

} // namespace gpuhost::runtime
