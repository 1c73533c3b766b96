// SPDX-License-Identifier: Apache-2.0
// Derives the health of devices from the log of faults and from what the offer says of them. Pure functions.
#pragma once

#include "daemon/devices/health/fault_log.hpp"
#include "daemon/devices/offer.hpp"
#include "daemon/devices/resources.hpp"

#include <string>
#include <vector>

namespace gpuhost::devices {

/// Returns the health of the GPUs and MIG instances that are not healthy, in the order of the offer.
///
/// A fault with a GPU instance affects the MIG devices in it, if the GPU has any. Any other fault, and an
/// action that the driver requires, affects the GPU and all its MIG devices. So does a mark or a clear of a
/// GPU.
[[nodiscard]] std::vector<DeviceHealth> evaluate_health(const FaultLog& log, const Offer& offer);

/// Adds to the devices of a resource why they are unhealthy.
void add_health(Resource& resource, const std::vector<DeviceHealth>& health);

} // namespace gpuhost::devices
