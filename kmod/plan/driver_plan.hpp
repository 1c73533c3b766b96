// SPDX-License-Identifier: Apache-2.0
// The plan that brings the host to a driver. Pure: observed JSON (org.gpuhost1(5)) in, steps out.
//
// Order: all that can fail without disturbing anybody comes first, and of that the wait, so that what is prepared
// is fresh; the driver is proved before others are let in again.
//
//   initramfs.clear → holders.wait → driver.prepare → door.shut → units.stop → holders.clear → driver.devices (back) →
//   modules.converge → units.quiesce (back) → driver.select → driver.devices → driver.validate → door.open → units.start
//
// Where nobody asked and what is selected is only to be loaded, as at boot, of these remain modules.converge,
// driver.devices and driver.validate: what starts after the driver waits for each step.
//
// Undone from any point before door.open it ends with the driver that was there before. From door.open on, containers and
// clients may use the new driver, which could not be unloaded, so the operation only goes on.
//
// Going back, driver.select is undone first and modules.converge after it. If the new driver can't be
// unloaded, the files say the old one, and the host asks for a reboot, which boots that. If the files can't go back, the
// modules stay.
#pragma once

#include "daemon/core/component.hpp"
#include "daemon/core/plan.hpp"
#include "daemon/core/steps_around.hpp"
#include "kmod/driver_settings.hpp"
#include "kmod/module/goal.hpp"
#include "kmod/observe/observed.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::kmod {

/// The modules of one set that should be in the kernel. A problem if it lacks one that the settings name.
[[nodiscard]] Goal goal_for(const ModuleSet& set, const std::string& version, const DriverSettings& settings,
                            const Observed& observed, std::vector<core::Problem>& problems);
/// What is in the kernel now, with the files that it came from as far as the store has them, and the parameters
/// of the driver that was selected when it was loaded: the settings may speak of the next one's already.
[[nodiscard]] Goal goal_as_loaded(const Observed& observed);

/// The newest sets of a version.
[[nodiscard]] std::optional<Driver> find_driver(const Observed& observed, const DriverSettings& settings,
                                                const std::string& version,
                                                std::vector<core::Problem>& problems);
/// The selected sets, if they are of this version and of the flavour that the settings want.
[[nodiscard]] std::optional<Driver> selected_driver(const Observed& observed, const DriverSettings& settings,
                                                    const std::string& version);
[[nodiscard]] std::optional<Driver> driver_of(const Store& store, const Generation& generation);

/// Makes the nodes of whatever driver is loaded; for other rooms too.
[[nodiscard]] core::Step driver_devices_step();

/// For the driver component's requests "swap" and "rollback", and for plain apply (no request). `around` are other rooms'
/// steps, for whatever changes.
[[nodiscard]] core::Plan driver_plan(const core::Desired& desired, const Observed& observed,
                                     const core::StepsAround& around = {});

} // namespace gpuhost::kmod
