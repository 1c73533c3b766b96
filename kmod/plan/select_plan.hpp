// SPDX-License-Identifier: Apache-2.0
// Plans that change which driver kernels boot, without loading or unloading a module. Also the plan for hosts
// whose driver gpuhostd does not manage. Pure.
#pragma once

#include "kmod/plan/driver_plan.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns the args of driver.prepare and driver.select for `kernel`: the files of the driver that is
/// selected now, and those to select. If `to` and `next` have no value, the step driver.select deselects.
/// `options` is the new content of options_file.
[[nodiscard]] base::Json select_args(const Observed& observed, const std::string& kernel,
                                     const std::optional<Driver>& to, const std::optional<Selection>& next,
                                     const std::string& options);

/// Returns the plan for Version=preinstalled and Version=off (`owner`). The plan refuses the request named
/// `request`. If `request` is empty, the plan has no steps, and its problems and reasons describe what is
/// wrong with the installed driver.
[[nodiscard]] core::Plan hands_off_plan(DriverOwner owner, const std::string& request,
                                        const Observed& observed);

/// Plans to select `version` for kernels other than the running one. If `version` is empty, selects
/// version_in_use(). If `kernels` is empty, selects for all installed kernels except the running one.
[[nodiscard]] core::Plan select_plan(const std::string& version, const std::vector<std::string>& kernels,
                                     const DriverSettings& settings, const Observed& observed);

/// Plans to remove the selections of all kernels, so that none boots a driver of gpuhost. A single kernel
/// cannot be deselected, because at its boot gpuhostd would select the driver in use for it. `around` are the
/// steps of other subsystems.
[[nodiscard]] core::Plan deselect_plan(const DriverSettings& settings, const Observed& observed,
                                       const core::StepsAround& around = {});

/// Returns the driver version in use: Version= of the settings. If that is empty, it is the version selected
/// for the running kernel, else for the kernel to which the link `current` leads. Empty: none.
[[nodiscard]] std::string version_in_use(const DriverSettings& settings, const Observed& observed);

} // namespace gpuhost::kmod
