// SPDX-License-Identifier: Apache-2.0
// Steps that change which driver runs (kmod/plan/driver_plan.hpp puts them in order):
//
//   holders.wait      Modules  waits until nobody holds the driver (policy wait only)
//   initramfs.clear   Boot     the image that the kernel boots with has no driver in it
//   driver.prepare    System   what the selection will lead to; module index beside the real one
//   door.shut, .open  System   others' loading of drivers is blocked, and allowed again
//   units.stop,.start Units    known clients leave and come back
//   holders.clear     Units    nobody holds the driver any more, or this step ends them (policy terminate)
//   modules.converge  Modules  the kernel gets other modules
//   driver.select     System   the host boots and finds the driver
//   units.quiesce     Units    client units that came back leave, before the driver goes back
//   units.reload      Units    systemd knows what leads units to the driver's programs
//   driver.devices    Devices  its nodes in /dev
//   driver.validate   Devices  does it work?
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

void register_driver_steps(core::StepKinds& kinds);

} // namespace gpuhost::kmod
