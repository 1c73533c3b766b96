// SPDX-License-Identifier: Apache-2.0
// Plans that say what a kernel boots, or that gpuhostd keeps its hands off the driver. Pure. No module is loaded or unloaded.
#pragma once

#include "kmod/plan/driver_plan.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Where Version= leaves the driver to somebody else: `request` is what was asked for, empty for plain apply, which says
/// what is wrong with that driver.
[[nodiscard]] core::Plan hands_off_plan(DriverOwner owner, const std::string& request,
                                        const Observed& observed);

/// Kernels that do not run boot `version` from here on. `version` empty: the one that this host uses; `kernels` empty: all
/// that are installed.
[[nodiscard]] core::Plan select_plan(const std::string& version, const std::vector<std::string>& kernels,
                                     const DriverSettings& settings, const Observed& observed);

/// No kernel boots anything of gpuhostd's from here on: one alone would get at its boot what the others have. `around` are
/// other rooms' steps.
[[nodiscard]] core::Plan deselect_plan(const DriverSettings& settings, const Observed& observed,
                                       const core::StepsAround& around = {});

/// The version that this host uses: of Version=, of the kernel that runs, or of the one that ran before. Empty: none.
[[nodiscard]] std::string version_in_use(const DriverSettings& settings, const Observed& observed);

} // namespace gpuhost::kmod
