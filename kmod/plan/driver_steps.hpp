// SPDX-License-Identifier: Apache-2.0
// The step kinds of plans that change the driver, each with its sandbox (kmod/plan/driver_plan.cpp has their
// order):
//
//   holders.wait      Modules  waits until no process holds the driver (policy wait only)
//   initramfs.clear   Boot     removes GPU drivers from the images with which the kernel boots
//   driver.prepare    System   creates the files to which the selection links, and the new module index
//   autoload.block,
//   autoload.unblock  System   blocks the automatic loading of drivers, and allows it again
//   units.stop,
//   units.start       Units    stops client units (ClientUnits=), and starts them again
//   holders.clear     Units    fails if a process holds the driver; policy terminate: ends it first
//   modules.converge  Modules  unloads and loads modules
//   driver.select     System   sets the driver that the host boots and uses
//   units.quiesce     Units    only in its undo: stops client units that were started again
//   units.reload      Units    makes systemd read drop-ins with which units run the driver's programs
//   driver.devices    Devices  creates the driver's nodes in /dev
//   driver.validate   Devices  checks that the driver works
//   driver.compute    Devices  runs a computation on each GPU
#pragma once

#include "daemon/core/step.hpp"

namespace gpuhost::kmod {

void register_driver_steps(core::StepKinds& kinds);

} // namespace gpuhost::kmod
