// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/step.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::core {

/// The change of the driver version that a kernel runs. Empty: none.
struct DriverChange {
    std::string kernel;
    std::string from;
    std::string to;
};

/// Describes what would change, why, and which problems are known. Without steps, the host is as configured.
struct Plan {
    std::string kind;  ///< "driver.swap", "driver.import", "apply": names the operation
    std::string title; ///< "swap driver 535.261.03 → 550.163.01"
    std::vector<Step> steps;
    /// "loaded 535.261.03, wanted 550.163.01 (selected for 6.1.0-50-amd64)"
    std::vector<std::string> reasons;
    std::vector<Problem> problems; ///< found without a worker; a plan with problems is not run
    /// The decision that a person must make before the host can be as configured. The plan runs without it.
    std::optional<Problem> undecided;
    std::optional<DriverChange> driver; ///< for the driver's history; nullopt if it stays the same
    /// False if the plan only changes gpuhost's own store, so that what runs on the host stays the same.
    bool changes_host = true;
};

[[nodiscard]] base::Json to_json(const Plan& plan);
[[nodiscard]] base::Result<Plan> plan_from_json(const base::Json& value);

} // namespace gpuhost::core
