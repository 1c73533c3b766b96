// SPDX-License-Identifier: Apache-2.0
// Steps that change which driver runs (kmod/plan/driver_plan.hpp orders them):
//
//   holders.wait      Modules  waits until no process holds the driver (policy wait only)
//   initramfs.clear   Boot     removes GPU drivers from the images with which the kernel boots
//   driver.prepare    System   creates what the selection links to, and a module index beside the real one
//   autoload.block, .open  System   blocks others from loading drivers, and allows it again
//   units.stop,.start Units    stops known clients, and starts them again
//   holders.clear     Units    fails if a process holds the driver, or ends it (policy terminate)
//   modules.converge  Modules  unloads and loads modules
//   driver.select     System   sets the driver that the host boots and uses
//   units.quiesce     Units    on undo alone: stops client units that started again
//   units.reload      Units    reloads systemd for the drop-ins that lead units to the driver's programs
//   driver.devices    Devices  creates the driver's nodes in /dev
//   driver.validate   Devices  checks that the driver works
//   driver.compute    Devices  runs a computation on each GPU
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

void register_driver_steps(core::StepKinds& kinds);

} // namespace gpuhost::kmod
