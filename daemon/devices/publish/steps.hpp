// SPDX-License-Identifier: Apache-2.0
// Steps that offer the GPUs to the kubelet, by a file that gpuhost-devices serves (daemon/devices/offer.hpp):
//
//   devices.withdraw  Devices  marks the offer as withdrawn, so that the kubelet gives no GPU to another pod,
//                              and waits until gpuhost-devices has told the kubelet. Does nothing without an
//                              offer. Undo offers the GPUs of the driver that is loaded then.
//   devices.publish   Devices  writes the offer for the loaded driver if it is not current, and waits as
//                              above. Removes the offer if no driver is loaded or Serve=off. If ConfigFile=
//                              is refused, the offer keeps its sharing; without an offer none is written.
//                              Undo restores the previous offer.
//
// The lists of kinds have the steps of mark_steps.hpp, too. Obstacles in a plan that changes the driver are
// warnings: they must not undo a change to a working driver.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/core/steps_around.hpp"
#include "daemon/devices/publish/devices_settings.hpp"

namespace gpuhost::devices {

[[nodiscard]] std::vector<core::StepKind> devices_step_kinds();
[[nodiscard]] std::vector<core::StepCode> devices_step_code();

/// Returns the step devices.publish for a plan that does not change the driver. If another device
/// plugin serves the GPUs, it removes the offer; without an offer it fails.
[[nodiscard]] core::Step devices_publish_step(const DevicesSettings& settings, std::string summary);

/// Returns the steps for a plan that changes the driver. `offered`: there is an offer.
[[nodiscard]] core::StepsAround devices_steps_around(const DevicesSettings& settings, bool offered);

} // namespace gpuhost::devices
