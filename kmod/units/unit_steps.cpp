// SPDX-License-Identifier: Apache-2.0
// Steps units.stop and units.start: stop the client units (ClientUnits=) before a swap, and start them after
// it. The undo of each does what the other does. args: {"units": [the client units that had processes when
// the plan was made], "only": [some of these, for units.start; empty: all]}. units.stop writes the units that
// it stops to a file in the transaction's directory. units.start and both undos use that list instead of
// "units". Step units.quiesce stops client units, but only in its undo: udev, a socket or an administrator
// may have started them during the swap. The undo of units.stop, which runs later, starts them again. args:
// {"units"}. Step units.reload makes systemd read new drop-ins of "units". A failure is only a warning.
#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "kmod/step_code.hpp"
#include "kmod/units/client_units.hpp"
#include "kmod/units/companion_services.hpp"

namespace gpuhost::kmod {
namespace {

using base::contains;
using base::Errc;
using base::Result;
using core::StepContext;

constexpr std::chrono::seconds unit_deadline{120};

/// Runs systemctl of the context's root and returns its output. Fails if the exit status is not 0.
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

/// Returns whether systemd reports the unit as active; it may have no processes.
Result<bool> is_active(const StepContext& context, const std::string& name) {
    GPUHOST_TRY(output, systemctl(context, "show", {name}, {"--value", "--property=ActiveState"}));
    const std::string_view state = base::trim(output);
    return !state.empty() && state != "inactive" && state != "failed";
}

std::string stopped_path(const StepContext& context) {
    return context.staging + "/stopped-units";
}

/// Returns the units that the step units.stop stopped. The step writes a list of them first; if there is no
/// list, returns "units" of the args.
std::vector<std::string> stopped_units(const StepContext& context, const base::Json& args) {
    const auto kept = context.root.read(stopped_path(context));
    return kept ? base::split_words(*kept) : base::strings_or_empty(args, "units");
}

/// Returns the args for start() and stop(): the units that the step units.stop stopped, or "only" of the
/// args.
base::Json stopped(const StepContext& context, const base::Json& args) {
    // The args have "only" if this step units.start starts some of the units earlier than the others.
    const auto only = base::strings_or_empty(args, "only");
    return {{"units", only.empty() ? stopped_units(context, args) : only}};
}

/// Returns the units of the plan, and other units of ClientUnits= that are active now. The plan has only
/// units with processes, but active units without processes may depend on these and stop with them.
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

/// Returns active units outside of `units` that systemd would stop together with them, because of their
/// dependencies.
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

/// Stops "units" of the args. Fails with InUse if one still has processes afterwards.
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

/// Adds units that were started during the swap to the list of the step units.stop, so that the undo of
/// units.stop starts them again. If the plan has no step units.stop, warns that they are not started again.
Result<void> keep_stopped(StepContext& context, const std::vector<std::string>& units) {
    const auto kept = context.root.read(stopped_path(context));
    if (kept)
        return context.root.write_atomic(stopped_path(context), *kept + "\n" + base::join(units, "\n"));
    context.warn("units that started during the swap are stopped and not started again: " +
                 base::join(units, " "));
    return {};
}

/// Stops the units that the step units.stop stopped, and other units of ClientUnits= that have processes now.
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

/// Returns success also if units cannot be stopped: the undo of modules.converge fails if the driver cannot
/// be unloaded because of that.
Result<void> quiesce(StepContext& context, const base::Json& args) {
    if (const auto stopped = stop_again(context, args); !stopped)
        context.warn("client units were not stopped again: " + stopped.error().message);
    return {};
}

/// Applies units.stop: finds the units, writes their list and stops them. Fails with InUse if another unit
/// would stop together with them.
Result<void> find_and_stop(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(units, units_to_stop(context, args));
    // Checked here, because the worker of the preflight cannot query systemd.
    GPUHOST_TRY(dependents, active_dependents(context, units));
    if (!dependents.empty())
        return base::fail(Errc::InUse,
                          dependents.front() + " would stop along with " + base::join(units, ", "),
                          "Add it to ClientUnits= in gpuhostd.conf, so that it is started again.");
    GPUHOST_CHECK(context.root.make_directories(context.staging, 0755));
    GPUHOST_CHECK(context.root.write_atomic(stopped_path(context), base::join(units, "\n")));
    return stop(context, stopped(context, args));
}

/// Returns whether systemd has read gpuhost's drop-in of the unit (kmod/units/companion_services.hpp), or
/// there is none. NeedDaemonReload= is not used, because it does not report a new drop-in directory. The
/// removal of the drop-in needs no reload: the drop-in has no effect without its program.
Result<bool> is_known(const StepContext& context, const std::string& unit) {
    const std::string drop_in = unit_drop_in(unit, {}).path;
    if (!context.root.exists(drop_in))
        return true;
    GPUHOST_TRY(paths, systemctl(context, "show", {unit}, {"--value", "--property=DropInPaths"}));
    return contains(base::split_words(paths), drop_in);
}

/// Makes systemd reload its units if it has not read a drop-in of "units". Avoids needless reloads, because
/// after a reload, containers of some runtimes can no longer access devices.
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

/// Returns whether the host is booting: gpuhost-ready.service, which waits for this operation, has a queued
/// or running job. Client units are started after that service, so this operation must not wait for them.
bool is_booting(const StepContext& context) {
    const auto job = systemctl(context, "show", {"gpuhost-ready.service"}, {"--value", "--property=Job"});
    return job && !base::trim(*job).empty() && base::trim(*job) != "0";
}

/// Starts the units. Returns success also if one does not start: that is a warning and does not undo the
/// swap.
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

/// Starts the units in an undo, without waiting for them. If the undo runs while the host boots, they start
/// only after gpuhost-ready.service, which waits for this step.
Result<void> start_again(StepContext& context, const base::Json& args) {
    for (const std::string& unit : base::strings_or_empty(args, "units"))
        if (const auto started = systemctl(context, "start", {unit}, {"--no-block"}); !started)
            context.warn(unit + " does not start again: " + started.error().message);
    return {};
}

} // namespace

core::StepCode units_stop_code() {
    core::StepCode code;
    code.name = "units.stop";
    code.apply = [](StepContext& context, const base::Json& args) -> Result<base::Json> {
        GPUHOST_CHECK(find_and_stop(context, args));
        return base::Json::object();
    };
    // Needs no verify: stop() checks that the units have no processes.
    code.undo = [](StepContext& context, const base::Json& args) {
        return start_again(context, stopped(context, args));
    };
    return code;
}

core::StepCode units_quiesce_code() {
    return {.name = "units.quiesce", .undo = quiesce};
}

core::StepCode units_reload_code() {
    core::StepCode code;
    code.name = "units.reload";
    code.apply = [](StepContext& context, const base::Json& args) -> Result<base::Json> {
        if (const auto reloaded = reload_unless_known(context, args); !reloaded)
            context.warn("systemd did not reload its unit files: " + reloaded.error().message);
        return base::Json::object();
    };
    return code;
}

core::StepCode units_start_code() {
    core::StepCode code;
    code.name = "units.start";
    code.apply = [](StepContext& context, const base::Json& args) {
        return start(context, stopped(context, args));
    };
    code.undo = [](StepContext& context, const base::Json& args) {
        return stop(context, stopped(context, args));
    };
    return code;
}

} // namespace gpuhost::kmod
