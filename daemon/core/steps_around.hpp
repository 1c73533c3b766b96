// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/step.hpp"

#include <vector>

namespace gpuhost::core {

/// Steps of other subsystems for a change of the driver. Both lists converge: a plan may have one without the
/// other.
struct StepsAround {
    /// Run after the driver's clients have stopped, so that no new one starts. Their undo suits whichever
    /// driver then runs.
    std::vector<Step> before;
    /// Run after the driver is validated, and again after its clients have restarted.
    std::vector<Step> after;
};

} // namespace gpuhost::core
