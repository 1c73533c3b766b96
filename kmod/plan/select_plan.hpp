// SPDX-License-Identifier: Apache-2.0
// Plans that set what a kernel boots, or that leave the driver to others. Pure. No module is loaded or
// unloaded.
#pragma once

#include "kmod/plan/driver_plan.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Plans for a Version= that leaves the driver to others. `request` is the request's name. Empty: apply
/// without a request, which reports what is wrong with that driver.
[[nodiscard]] core::Plan hands_off_plan(DriverOwner owner, const std::string& request,
                                        const Observed& observed);

/// Plans the selection of `version` for kernels other than the running one. Empty `version`: the one in use;
/// empty `kernels`: all that are installed.
[[nodiscard]] core::Plan select_plan(const std::string& version, const std::vector<std::string>& kernels,
                                     const DriverSettings& settings, const Observed& observed);

/// Plans to remove the selections of all kernels, so that none boots a driver of gpuhostd. A single kernel
/// cannot be deselected: at its boot it would get the driver that the others have. `around` are the steps of
/// other subsystems.
[[nodiscard]] core::Plan deselect_plan(const DriverSettings& settings, const Observed& observed,
                                       const core::StepsAround& around = {});

/// Returns the version in use: from Version=, else from the running kernel's selection, else from the kernel
/// to which `current` leads. Empty: none.
[[nodiscard]] std::string version_in_use(const DriverSettings& settings, const Observed& observed);

} // namespace gpuhost::kmod
