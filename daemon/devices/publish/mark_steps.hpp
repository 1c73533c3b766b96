// SPDX-License-Identifier: Apache-2.0
// Steps that change marks of devices, and tell gpuhost-devices by a new offer:
//
//   devices.mark   Store  makes a device unhealthy until it is cleared
//   devices.clear  Store  removes the mark, and ends the faults that the device had until then
//
// Undo of both restores the files, and the offer.
#pragma once

#include "daemon/core/plan.hpp"
#include "daemon/core/step.hpp"
#include "daemon/devices/publish/devices_settings.hpp"

namespace gpuhost::devices {

[[nodiscard]] std::vector<core::StepKind> mark_step_kinds();
[[nodiscard]] std::vector<core::StepCode> mark_step_code();

/// Returns the plan of a request {"request": "mark" | "clear", "device": a name of find_device(),
/// "reason": text}.
[[nodiscard]] core::Plan mark_plan(const DevicesSettings& settings, const base::Json& request,
                                   const base::Json& observed);

} // namespace gpuhost::devices
