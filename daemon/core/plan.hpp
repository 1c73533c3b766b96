// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/step.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::core {

/// Which version of the driver a kernel runs afterwards, in place of which. Empty: none.
struct DriverChange {
    std::string kernel;
    std::string from;
    std::string to;
};

/// What would change, why, and what already stands in the way. No step means that the host is as wanted.
struct Plan {
    std::string kind;  ///< "driver.swap", "driver.import", "apply": names the operation
    std::string title; ///< "swap driver 535.261.03 → 550.163.01"
    std::vector<Step> steps;
    /// "loaded 535.261.03, wanted 550.163.01 (selected for 6.1.0-50-amd64)"
    std::vector<std::string> reasons;
    std::vector<Problem> problems; ///< known without a worker; with any of these the plan is not run
    /// The decision that a person has to make before the host is as configured. The plan runs without it.
    std::optional<Problem> undecided;
    std::optional<DriverChange> driver; ///< for the driver's history; nothing where it stays what it is
    bool changes_host = true; ///< false: only gpuhost's own store; whatever comes of it, what runs stays
};

[[nodiscard]] base::Json to_json(const Plan& plan);
[[nodiscard]] base::Result<Plan> plan_from_json(const base::Json& value);

} // namespace gpuhost::core
