// SPDX-License-Identifier: Apache-2.0
// The plan that brings the host to a driver. Pure: observed JSON (org.gpuhost1(5)) in, steps out.
//
// Order: everything that can fail without an effect on users is first. The wait precedes the preparation, so
// that what is prepared is current. The driver is validated before others may load drivers again.
//
//   initramfs.clear → holders.wait → driver.prepare → autoload.block → units.stop → holders.clear →
//   driver.devices (back) → modules.converge → units.quiesce (back) → driver.select → units.reload →
//   driver.devices → driver.validate → driver.compute → autoload.unblock → units.start
//
// If nothing was requested and the selected driver only has to be loaded, as at boot, few steps remain:
// modules.converge, driver.devices, driver.validate and, with Validation=cuda, driver.compute. Units that
// start after the driver wait for each step.
//
// An undo from any point before autoload.unblock restores the previous driver. From autoload.unblock on,
// containers and clients may use the new driver, which could not be unloaded. The operation then only
// continues.
//
// An undo reverts driver.select before modules.converge. If the new driver cannot be unloaded, the files
// select the old one, and the host asks for a reboot into it. If the files cannot be restored, the modules
// stay.
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

/// Returns the modules of one set that should be loaded. Adds a problem if the set lacks one that the
/// settings name.
[[nodiscard]] ModuleGoal goal_for(const ModuleSet& set, const std::string& version,
                                  const DriverSettings& settings, const Observed& observed,
                                  std::vector<core::Problem>& problems);
/// Returns what is loaded now, with the files it was loaded from if the store has them. The parameters are
/// those of the driver that was selected at that time; the settings may already be for the next driver.
[[nodiscard]] ModuleGoal goal_as_loaded(const Observed& observed);

/// Returns the newest sets of a version.
[[nodiscard]] std::optional<Driver> find_driver(const Observed& observed, const DriverSettings& settings,
                                                const std::string& version,
                                                std::vector<core::Problem>& problems);
/// Returns the selected sets, if they are of this version and of the configured flavour.
[[nodiscard]] std::optional<Driver> selected_driver(const Observed& observed, const DriverSettings& settings,
                                                    const std::string& version);
[[nodiscard]] std::optional<Driver> driver_of(const Store& store, const Generation& generation);

/// Returns the step that creates the nodes of the loaded driver. Other subsystems use it too.
[[nodiscard]] core::Step driver_devices_step();

/// Plans the driver component's requests "swap" and "rollback", and apply without a request. `around` are the
/// steps of other subsystems, used if anything changes.
[[nodiscard]] core::Plan driver_plan(const core::Desired& desired, const Observed& observed,
                                     const core::StepsAround& around = {});

} // namespace gpuhost::kmod
