// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/step.hpp"

#include <vector>

namespace gpuhost::core {

/// What other rooms do when the driver changes. Both converge: a plan may have one of them without the other.
struct StepsAround {
    /// Once its clients have gone: nobody else may begin to use it. Undone, they are right for whatever driver runs then.
    std::vector<Step> before;
    /// Once the driver is validated, and again when its clients are back.
    std::vector<Step> after;
};

} // namespace gpuhost::core
