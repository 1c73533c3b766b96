// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kmod/plan/driver_plan.hpp"

#include <optional>

namespace gpuhost::kmod {

/// Returns a problem if no driver version is configured or selected, so that an administrator must choose
/// one. Its text lists the versions in the store. Its hint is a command that works now, or names what a build
/// lacks. Returns nothing if the host has no GPU for the driver. Also returns nothing if the store is empty
/// and a driver that gpuhost did not install is loaded.
[[nodiscard]] std::optional<core::Problem> driver_to_choose(const Observed& observed,
                                                            const DriverSettings& settings);

} // namespace gpuhost::kmod
