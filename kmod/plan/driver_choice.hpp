// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kmod/plan/driver_plan.hpp"

#include <optional>

namespace gpuhost::kmod {

/// Returns the choice that a person still has to make on a host where no driver version is configured or selected: which
/// versions the store has, and the command that takes the newest. Nothing without a GPU to drive, or if a driver of the host's
/// own is loaded and the store is empty.
[[nodiscard]] std::optional<core::Problem> driver_to_choose(const Observed& observed,
                                                            const DriverSettings& settings);

} // namespace gpuhost::kmod
