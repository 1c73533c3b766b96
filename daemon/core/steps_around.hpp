// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/step.hpp"

#include <vector>

namespace gpuhost::core {

/// Steps of other subsystems in a plan that changes the driver, such as those that remove and write CDI
/// specifications. The lists converge, so a plan may include only some of them.
struct StepsAround {
    /// Run before anything waits for processes that use the driver or ends them, so that no new ones start
    /// meanwhile. The undo of these steps adapts to the driver that runs when the undo begins.
    std::vector<Step> first;
    /// Run after the units that use the driver have stopped and before the driver is unloaded, so that no
    /// container starts with the old driver. The undo of these steps adapts to the driver that runs when the
    /// undo begins.
    std::vector<Step> before;
    /// Run after the new driver is validated, if it replaces another one, and before anything else may use
    /// it. If one of these steps fails, the change of the driver is undone.
    std::vector<Step> validated;
    /// Run after the new driver is validated, and again after the units that use it have restarted.
    std::vector<Step> after;
};

} // namespace gpuhost::core
