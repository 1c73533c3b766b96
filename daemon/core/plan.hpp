// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/step.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::core {

/// A change of the driver version of one kernel release. An empty version means no driver.
struct DriverChange {
    std::string kernel;
    std::string from;
    std::string to;
};

/// Describes what would change, why, and which problems are known. A plan without steps and problems means
/// that the host is as configured.
struct Plan {
    std::string kind;  ///< "driver.swap", "driver.import", "apply": names the operation
    std::string title; ///< "swap driver 535.261.03 → 550.163.01"
    std::vector<Step> steps;
    /// "loaded 535.261.03, wanted 550.163.01 (selected for 6.1.0-50-amd64)"
    std::vector<std::string> reasons;
    std::vector<Problem> problems; ///< known without running a worker; a plan with problems is not run
    /// A decision that an administrator must make, for example which driver to install. Until then the host
    /// is not fully configured, but the plan can run.
    std::optional<Problem> undecided;
    /// Recorded in the history of the driver; nullopt if the version stays the same.
    std::optional<DriverChange> driver;
    /// False if the plan changes only gpuhost's own store, and nothing that runs on the host.
    bool changes_host = true;
    /// True if the plan creates devices of GPUs, such as MIG instances. Not stored.
    bool creates_devices = false;
};

[[nodiscard]] base::Json to_json(const DriverChange& change);
[[nodiscard]] base::Json to_json(const Plan& plan);
[[nodiscard]] base::Result<Plan> plan_from_json(const base::Json& value);

} // namespace gpuhost::core
