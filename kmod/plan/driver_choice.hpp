// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kmod/plan/driver_plan.hpp"

#include <optional>

namespace gpuhost::kmod {

/// Returns the choice that an administrator still has to make if no driver version is configured or selected.
/// It lists the versions in the store and the command that uses the newest. Returns nothing if there is no
/// GPU to drive, or if the host's own driver is loaded and the store is empty.
[[nodiscard]] std::optional<core::Problem> driver_to_choose(const Observed& observed,
                                                            const DriverSettings& settings);

} // namespace gpuhost::kmod
