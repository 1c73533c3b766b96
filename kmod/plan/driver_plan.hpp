// SPDX-License-Identifier: Apache-2.0
// The plan that makes the host load and boot a driver version, for the requests "swap" and "rollback" and for
// apply. Pure: it is computed from an Observed.
//
// The table in make_steps() is the order of the steps: those that can fail without an effect on users of the
// driver are first. holders.wait, which may last hours, precedes driver.prepare, so that what is prepared is
// still right. The driver is validated before autoload.unblock lets other programs load drivers again.
//
// If the selected driver only has to be loaded, as at boot, the plan has only modules.converge,
// driver.devices, driver.validate and, with Validation=cuda, driver.compute. Units that start after the
// driver wait for these steps, so there are no others.
//
// If a step before autoload.unblock fails, an undo restores the previous driver. From autoload.unblock on,
// nothing is undone: containers and clients may use the new driver, so that it could not be unloaded.
//
// An undo reverts driver.select before modules.converge. If the new driver then cannot be unloaded, the files
// select the old driver, and a reboot is required to load it. If the undo of driver.select fails, that of
// modules.converge keeps the new modules loaded.
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

/// Returns the goal for one module set. Required are the modules in Modules= of the settings, with their
/// dependencies in the set. Optional are the other modules of the set that are loaded now. Also optional are
/// loaded modules that use the driver and are not part of any set (is_others()). Adds a problem for each
/// required module that the set does not contain.
[[nodiscard]] ModuleGoal goal_for(const ModuleSet& set, const std::string& version,
                                  const DriverSettings& settings, const Observed& observed,
                                  std::vector<core::Problem>& problems);
/// Returns the loaded modules as a goal, to which an undo returns. Their files are those in the store; a
/// module that is not in the store has no path. Their parameters are read from options_file, because the
/// settings may already be those for the next driver.
[[nodiscard]] ModuleGoal goal_as_loaded(const Observed& observed);

/// Returns the newest userland and module set of `version` for `kernel`, in this flavour ("any": in either).
/// Returns nothing and adds a problem if the store has no modules for it.
[[nodiscard]] std::optional<Driver> find_driver(const Observed& observed, const std::string& kernel,
                                                const std::string& flavour, const std::string& version,
                                                std::vector<core::Problem>& problems);
/// Returns the driver that is selected for the running kernel, if it is of this version and flavour.
[[nodiscard]] std::optional<Driver> selected_driver(const Observed& observed, const std::string& flavour,
                                                    const std::string& version);
/// Returns a generation with the paths of its sets; nothing if a set is not in the store.
[[nodiscard]] std::optional<Driver> driver_of(const Store& store, const Generation& generation);

/// Returns the generation that a rollback swaps to once `next` is selected in place of `before` (null: none).
/// If the userland is the same, a module set that replaces a removed one, or one of the same version and
/// flavour, such as a signed copy, is not another driver: the previous one stays.
[[nodiscard]] std::optional<Generation> previous_of(const Store& store, const Selection* before,
                                                    const Generation& next);

/// Returns the step that creates the device nodes of the loaded driver. Plans of other subsystems contain it
/// too.
[[nodiscard]] core::Step driver_devices_step();
/// Returns the step whose undo creates the device nodes of the driver that is loaded then.
[[nodiscard]] core::Step driver_devices_back_step(std::string summary);

/// Plans the driver component's requests "swap" and "rollback", and apply without a request. `around` are the
/// steps of other subsystems (daemon/core/steps_around.hpp), which the plan contains if it has any steps.
[[nodiscard]] core::Plan driver_plan(const core::Desired& desired, const Observed& observed,
                                     const core::StepsAround& around = {});

} // namespace gpuhost::kmod
