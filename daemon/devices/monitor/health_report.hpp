// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/devices/offer.hpp"

#include <vector>

namespace gpuhost::devices {

/// Logs each device of the offer whose state, recovery or error differs, with what to do about it.
void report_health(const Offer& offer, const std::vector<DeviceHealth>& before,
                   const std::vector<DeviceHealth>& after);

} // namespace gpuhost::devices
