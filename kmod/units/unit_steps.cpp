// SPDX-License-Identifier: Apache-2.0
// units.stop and units.start: stop the client units that hold the driver before a swap, and start them after
// it. Each is the inverse of the other. args: {"units": [those active when it was planned], "only": [some of
// these; empty: all; for units.start alone]}. units.stop stores the units that it finds active in the
// transaction's directory, for the step that starts them.
// units.quiesce stops client units, on undo alone: udev, a socket or an administrator may have started them
// since. The undo of units.stop starts them again. args: {"units"}.
// units.reload: makes systemd read the drop-ins of these "units". A failure is a warning, not a reason to
// undo.
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "kmod/step_kind.hpp"
#include "kmod/units/client_units.hpp"
#include "kmod/units/companion_services.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Result;
using core::StepContext;

constexpr std::chrono::seconds unit_deadline{120};

/// Runs the tree's own systemctl and returns its output. On a mounted image that is not the running host's.
Result<std::string> systemctl(const StepContext& context, const std::string& verb,
                              const std::vector<std::string>& units,
                              const std::vector<std::string>& options = {}) {
    base::Command command;
    command.argv = {context.root.host_path("/usr/bin/systemctl"), verb};
    command.argv.insert(command.argv.end(), options.begin(), options.end());
    command.argv.emplace_back("--");
    command.argv.insert(command.argv.end(), units.begin(), units.end());
    command.deadline = unit_deadline;
    GPUHOST_TRY(finished, base::run(command));
    if (finished.timed_out)
        return base::fail(Errc::Timeout, "systemctl " + verb + " " + base::join(units, " ") + ": timed out");
    if (finished.exit_status != 0)
        return base::fail(Errc::Failed, "systemctl " + verb + ": " + std::string(base::trim(finished.output)),
                          "See: systemctl status " + base::join(units, " ") + ".");
    return std::move(finished.output);
}

bool contains(const std::vector<std::string>& units, const std::string& name) {
    return std::find(units.begin(), units.end(), name) != units.end();
}

/// Returns whether the unit is active, with or without processes.
Result<bool> is_active(const StepContext& context, const std::string& name) {
    GPUHOST_TRY(output, systemctl(context, "show", {name}, {"--value", "--property=ActiveState"}));
    const std::string_view state = base::trim(output);
    return !state.empty() && state != "inactive" && state != "failed";
}

std::string stopped_path(const StepContext& context) {
    return context.staging + "/stopped-units";
}

/// Returns the units that units.stop stopped or was about to stop.
std::vector<std::string> stopped_units(const StepContext& context, const base::Json& args) {
    const auto kept = context.root.read(stopped_path(context));
    return kept ? base::split_words(*kept) : base::strings_or_empty(args, "units");
}

base::Json stopped(const StepContext& context, const base::Json& args) {
    const auto only = base::strings_or_empty(args, "only"); // a subset starts earlier
    return {{"units", only.empty() ? stopped_units(context, args) : only}};
}

/// Returns the planned units, and those of ClientUnits= that are active by now. The plan does not see active
/// units without processes, but they may stop along with the others.
Result<std::vector<std::string>> units_to_stop(const StepContext& context, const base::Json& args) {
    std::vector<std::string> units = stopped_units(context, args);
    const base::Json& driver = base::member(context.settings, "Driver");
    for (const std::string& name : base::split_words(base::string_or(driver, "ClientUnits", ""))) {
        if (contains(units, name))
            continue;
        GPUHOST_TRY(active, is_active(context, name));
        if (active)
            units.push_back(name);
    }
    return units;
}

/// Returns other active units that stop along with these.
Result<std::vector<std::string>> active_dependents(const StepContext& context,
                                                   const std::vector<std::string>& units) {
    const std::string dependents = "--property=RequiredBy,RequisiteOf,BoundBy,ConsistsOf,PropagatesStopTo";
    GPUHOST_TRY(names, systemctl(context, "show", units, {"--value", dependents}));
    std::vector<std::string> found;
    for (const std::string& name : base::split_words(names)) {
        if (contains(units, name) || contains(found, name))
            continue;
        GPUHOST_TRY(active, is_active(context, name));
        if (active)
            found.push_back(name);
    }
    return found;
}

Result<void> stop(StepContext& context, const base::Json& args) {
    const auto units = base::strings_or_empty(args, "units");
    context.progress(-1, "stop " + base::join(units, ", "));
    GPUHOST_CHECK(systemctl(context, "stop", units));
    const auto left = active_units(context.root, units);
    if (left.empty())
        return {};
    return base::fail(Errc::InUse, base::join(left, ", ") + " still has processes after it was stopped",
                      "See: systemctl status " + left.front() + ".");
}

/// Adds units that started during the swap to those that units.stop stopped. Without units.stop they are not
/// started again.
Result<void> keep_stopped(StepContext& context, const std::vector<std::string>& units) {
    const auto kept = context.root.read(stopped_path(context));
    if (kept)
        return context.root.write_atomic(stopped_path(context), *kept + "\n" + base::join(units, "\n"));
    context.warn("units that started during the swap are stopped and not started again: " +
                 base::join(units, " "));
    return {};
}

/// Stops the units of units.stop, and those of ClientUnits= that have processes by now.
Result<void> stop_again(StepContext& context, const base::Json& args) {
    std::vector<std::string> units = stopped_units(context, args);
    std::vector<std::string> others =
        base::split_words(base::string_or(base::member(context.settings, "Driver"), "ClientUnits", ""));
    std::erase_if(others, [&](const std::string& name) { return contains(units, name); });
    const std::vector<std::string> started = active_units(context.root, others);
    units.insert(units.end(), started.begin(), started.end());
    if (units.empty())
        return {};
    GPUHOST_TRY(dependents, active_dependents(context, units));
    dependents.insert(dependents.begin(), started.begin(), started.end());
    if (!dependents.empty())
        GPUHOST_CHECK(keep_stopped(context, dependents));
    return stop(context, {{"units", units}});
}

/// Never returns an error: the kernel decides whether the driver can be unloaded.
Result<void> quiesce(StepContext& context, const base::Json& args) {
    if (const auto stopped = stop_again(context, args); !stopped)
        context.warn("client units were not stopped again: " + stopped.error().message);
    return {};
}

Result<void> find_and_stop(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(units, units_to_stop(context, args));
    // Not in preflight, whose worker cannot ask systemd.
    GPUHOST_TRY(dependents, active_dependents(context, units));
    if (!dependents.empty())
        return base::fail(Errc::InUse,
                          dependents.front() + " would stop along with " + base::join(units, ", "),
                          "Add it to ClientUnits= in gpuhostd.conf, so that it is started again.");
    GPUHOST_CHECK(context.root.make_directories(context.staging, 0755));
    GPUHOST_CHECK(context.root.write_atomic(stopped_path(context), base::join(units, "\n")));
    return stop(context, stopped(context, args));
}

/// Returns whether systemd has read our drop-in of the unit (kmod/units/companion_services.hpp).
/// NeedDaemonReload= does not report a new drop-in directory. A removed drop-in needs no reload: it ignores a
/// missing program.
Result<bool> is_known(const StepContext& context, const std::string& unit) {
    const std::string drop_in = unit_drop_in(unit, {}).path;
    if (!context.root.exists(drop_in))
        return true;
    GPUHOST_TRY(paths, systemctl(context, "show", {unit}, {"--value", "--property=DropInPaths"}));
    return contains(base::split_words(paths), drop_in);
}

/// Reloads only if needed: a reload makes containers of some runtimes lose devices.
Result<void> reload_unless_known(const StepContext& context, const base::Json& args) {
    for (const std::string& unit : base::strings_or_empty(args, "units")) {
        GPUHOST_TRY(known, is_known(context, unit));
        if (!known) {
            GPUHOST_CHECK(systemctl(context, "daemon-reload", {}));
            return {};
        }
    }
    return {};
}

/// Returns true while gpuhost-ready.service has a queued or running job, which waits for this operation.
/// Client units start after that service, so nothing may wait for them then.
bool is_booting(const StepContext& context) {
    const auto job = systemctl(context, "show", {"gpuhost-ready.service"}, {"--value", "--property=Job"});
    return job && !base::trim(*job).empty() && base::trim(*job) != "0";
}

/// Never returns an error: a unit that does not start is reported, and the swap stays.
Result<base::Json> start(StepContext& context, const base::Json& args) {
    std::vector<std::string> options;
    if (is_booting(context))
        options.emplace_back("--no-block");
    for (const std::string& unit : base::strings_or_empty(args, "units")) {
        context.progress(-1, "start " + unit);
        if (const auto started = systemctl(context, "start", {unit}, options); !started)
            context.warn(unit + " did not start again: " + started.error().message);
    }
    return base::Json::object();
}

/// Does not wait for the units. If the undo runs while the host boots, they start after
/// gpuhost-ready.service, which waits for this step.
Result<void> start_again(StepContext& context, const base::Json& args) {
    for (const std::string& unit : base::strings_or_empty(args, "units"))
        if (const auto started = systemctl(context, "start", {unit}, {"--no-block"}); !started)
            context.warn(unit + " does not start again: " + started.error().message);
    return {};
}

} // namespace

core::StepKind units_stop_kind() {
    core::StepKind kind;
    kind.name = "units.stop";
    kind.sandbox = core::Sandbox::Units;
    kind.ends_with_boot = true;
    kind.deadline = std::chrono::minutes(10);
    kind.apply = [](StepContext& context, const base::Json& args) -> Result<base::Json> {
        GPUHOST_CHECK(find_and_stop(context, args));
        return base::Json::object();
    };
    // needs no verify: stop() checks
    kind.undo = [](StepContext& context, const base::Json& args) {
        return start_again(context, stopped(context, args));
    };
    return kind;
}

core::StepKind units_quiesce_kind() {
    core::StepKind kind;
    kind.name = "units.quiesce";
    kind.sandbox = core::Sandbox::Units;
    kind.ends_with_boot = true;
    kind.deadline = std::chrono::minutes(5);
    kind.undo = quiesce;
    return kind;
}

core::StepKind units_reload_kind() {
    core::StepKind kind;
    kind.name = "units.reload";
    kind.sandbox = core::Sandbox::Units;
    kind.ends_with_boot = true;
    kind.deadline = std::chrono::minutes(5);
    kind.apply = [](StepContext& context, const base::Json& args) -> Result<base::Json> {
        if (const auto reloaded = reload_unless_known(context, args); !reloaded)
            context.warn("systemd did not reload its unit files: " + reloaded.error().message);
        return base::Json::object();
    };
    return kind;
}

core::StepKind units_start_kind() {
    core::StepKind kind;
    kind.name = "units.start";
    kind.sandbox = core::Sandbox::Units;
    kind.ends_with_boot = true;
    kind.deadline = std::chrono::minutes(20);
    kind.apply = [](StepContext& context, const base::Json& args) {
        return start(context, stopped(context, args));
    };
    kind.undo = [](StepContext& context, const base::Json& args) {
        return stop(context, stopped(context, args));
    };
    return kind;
}

} // namespace gpuhost::kmod
