// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_plan.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/boot/initramfs.hpp"
#include "kmod/load/console.hpp"
#include "kmod/module/graph.hpp"
#include "kmod/plan/driver_choice.hpp"
#include "kmod/plan/select_plan.hpp"
#include "kmod/store/flavour_choice.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;
using core::Plan;
using core::Problem;
using core::Step;

/// A request, or apply, with the driver version that it wants. `settings` contains the values that the
/// request overrides.
struct DriverRequest {
    enum class Kind { Apply, Swap, Rollback } kind = Kind::Apply;
    std::string verb; ///< name of the request, "swap" or "rollback"; empty: apply
    DriverSettings settings;
    std::string version; ///< the wanted version; empty: none
};

DriverRequest read_request(const core::Desired& desired, const Observed& observed) {
    const Json& given = base::member(desired.request, "driver");
    const std::string kind = base::string_or(given, "request", "");
    DriverRequest request{DriverRequest::Kind::Apply, kind, driver_settings(desired.settings), {}};
    request.settings.holder_policy = base::string_or(given, "holders", request.settings.holder_policy);
    const std::int64_t timeout = base::int_or(given, "holder-timeout-usec", -1);
    if (timeout >= 0)
        request.settings.holder_timeout = std::chrono::milliseconds(timeout / 1000);
    const Selection* const selection = observed.selection();
    if (kind == "rollback") {
        request.kind = DriverRequest::Kind::Rollback;
        if (selection != nullptr && selection->previous)
            request.version = selection->previous->version;
        return request;
    }
    request.kind = kind == "swap" ? DriverRequest::Kind::Swap : DriverRequest::Kind::Apply;
    request.version = base::string_or(given, "version", request.settings.version);
    if (request.version.empty())
        request.version = version_in_use(request.settings, observed);
    return request;
}

/// The facts from which make_steps() makes the steps of a plan.
struct DriverChange {
    const Observed& observed;
    DriverSettings settings;
    std::optional<Driver> from; ///< the driver that is selected now
    Driver to;
    ModuleGoal loaded;              ///< goal_as_loaded()
    ModuleGoal goal;                ///< goal_for() the new driver
    core::StepsAround around;       ///< steps of other subsystems
    std::vector<std::string> units; ///< client units to stop and start
    bool modules = false;           ///< modules must be loaded, after `unload` if that is true
    bool unload = false;            ///< modules must be unloaded
    bool files = false;             ///< selection files must be changed
    bool selects = false;           ///< the selection changes to another generation
    bool devices = false;           ///< only device nodes are missing or wrong
    bool asked = false;             ///< the plan is for a request, not for apply

    /// Returns whether the selected driver only has to be loaded, as at boot. Automatic loading is not
    /// blocked then, because other programs, such as udev, load the same driver.
    [[nodiscard]] bool only_loads() const { return !unload && !files && !asked; }
};

bool options_differ(const DriverChange& change) {
    return change.observed.options != modprobe_options(change.settings.parameters);
}

bool is_policy(const std::string& word) {
    const auto keys = driver_setting_keys();
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [](const core::SettingKey& known) { return known.key == "HolderPolicy"; });
    const std::vector<std::string> policies = base::split_words(key->choices);
    return std::find(policies.begin(), policies.end(), word) != policies.end();
}

bool names(const ModuleGoal& goal, const std::string& name) {
    return std::any_of(goal.modules.begin(), goal.modules.end(),
                       [&](const GoalModule& module) { return module.name == name; });
}

std::string gone_or(const std::string& version) {
    return version.empty() ? "no driver" : version;
}

Json usec(std::chrono::milliseconds time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

Json holder_args(const DriverChange& change) {
    return {{"policy", change.settings.holder_policy},
            {"units", change.units},
            {"timeout_usec", usec(change.settings.holder_timeout)},
            {"grace_usec", usec(change.settings.terminate_grace)}};
}

Json select_args(const DriverChange& change) {
    const Selection* const selection = change.observed.selection();
    Selection next{change.to.generation, std::nullopt};
    if (selection != nullptr)
        next.previous =
            selection->generation == next.generation ? selection->previous : selection->generation;
    return {{"kernel", change.observed.kernel},
            {"from", change.from ? to_json(*change.from) : Json()},
            {"to", to_json(change.to)},
            {"options_from", change.observed.options},
            {"options_to", modprobe_options(change.settings.parameters)},
            {"current_from", change.observed.current},
            {"selection_from", selection != nullptr ? to_json(*selection) : Json()},
            {"selection_to", to_json(next)}};
}

/// Returns the PCI addresses of the GPUs that the new driver must serve, else the swap is undone: all that
/// the previous driver serves. Empty if no module is unloaded, as at boot: one GPU that does not work must
/// not prevent the use of the others.
std::vector<std::string> gpus_to_serve(const DriverChange& change) {
    return change.unload ? probed_gpus(change.observed.gpus).driven : std::vector<std::string>();
}

Json converge_args(const DriverChange& change) {
    return {{"kernel", change.observed.kernel},
            {"from", to_json(change.loaded)},
            {"to", to_json(change.goal)},
            {"gpus", gpus_to_serve(change)},
            {"selects", change.selects},
            {"console", !change.observed.console.empty()},
            {"policy", change.settings.holder_policy},
            {"module_deadline_usec", usec(change.settings.module_deadline)},
            {"grace_usec", usec(change.settings.terminate_grace)}};
}

/// Returns the args of autoload.block and autoload.unblock: the modules of both drivers, and nouveau, which
/// udev would load while GPUs have no driver.
Json autoload_args(const DriverChange& change) {
    std::vector<std::string> names{"nouveau"};
    for (const ModuleGoal* goal : {&change.loaded, &change.goal})
        for (const GoalModule& module : goal->modules)
            names.push_back(module.name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return {{"modules", names}};
}

void add(std::vector<Step>& steps, const std::vector<Step>& more) {
    steps.insert(steps.end(), more.begin(), more.end());
}

void add_steps_before(const DriverChange& change, std::vector<Step>& steps) {
    const std::string units = base::join(change.units, ", ");
    if (!change.only_loads())
        steps.push_back(
            {"autoload.block", "block automatic loading of driver modules", autoload_args(change)});
    if (change.unload && !change.units.empty())
        steps.push_back({"units.stop", "stop " + units, {{"units", change.units}}});
    if (change.unload)
        add(steps, change.around.before);
    if (change.unload)
        steps.push_back({"holders.clear", "ensure that no process holds the driver", holder_args(change)});
    if (!change.only_loads())
        steps.push_back({"driver.devices", "restore device nodes if the swap is undone", {{"when", "back"}}});
    steps.push_back({"modules.converge",
                     "load nvidia " + change.goal.version + " in place of " + gone_or(change.loaded.version),
                     converge_args(change)});
    if (!change.only_loads())
        steps.push_back(
            {"units.quiesce", "stop client units if the swap is undone", {{"units", change.units}}});
}

constexpr const char* fabric_manager = "nvidia-fabricmanager.service";

/// Returns whether the plan stops the fabric manager, which is a client unit. GPUs that are connected by
/// NVSwitches can compute only while it runs.
bool waits_for_fabric(const DriverChange& change) {
    return change.unload &&
           std::find(change.units.begin(), change.units.end(), fabric_manager) != change.units.end();
}

/// Adds driver.compute with Validation=cuda, if modules are loaded. Otherwise GPUs may be in use, with too
/// little free memory for the computation. Starts the fabric manager before it, if the plan stops that.
void add_computing(const DriverChange& change, std::vector<Step>& steps) {
    if (change.settings.validation != "cuda" || !change.modules)
        return;
    if (waits_for_fabric(change))
        steps.push_back({"units.start",
                         std::string("start ") + fabric_manager,
                         {{"units", change.units}, {"only", {fabric_manager}}}});
    steps.push_back({"driver.compute",
                     "compute on each GPU",
                     {{"userland", change.to.userland},
                      {"gpus", gpus_to_serve(change)},
                      {"fabric", waits_for_fabric(change)}}});
}

void add_steps_after(const DriverChange& change, std::vector<Step>& steps) {
    steps.push_back({"driver.validate",
                     "validate driver " + change.goal.version + " (" + change.settings.validation + ")",
                     {{"level", change.settings.validation},
                      {"goal", to_json(change.goal)},
                      {"gpus", gpus_to_serve(change)},
                      {"userland", change.to.userland},
                      {"units", change.unload ? change.units : std::vector<std::string>()}}});
    add_computing(change, steps);
    // Nothing is undone from here on: containers and clients may use the new driver, so that it could not be
    // unloaded.
    if ((change.modules && !change.only_loads()) || change.observed.autoload_blocked)
        steps.push_back(
            {"autoload.unblock", "allow automatic loading of driver modules", autoload_args(change), true});
    add(steps, change.around.after);
    if (!change.unload || change.units.empty())
        return;
    steps.push_back({"units.start", "start " + base::join(change.units, ", "), {{"units", change.units}}});
    // Again, because client units have created sockets, which CDI specifications list.
    add(steps, change.around.after);
}

std::vector<Step> make_steps(const DriverChange& change) {
    std::vector<Step> steps;
    const std::string version = change.goal.version;
    if (change.selects) // first, because it may last minutes, and its result does not become outdated
        add(steps, initramfs_steps(change.settings, change.observed.initramfs, change.observed.kernel));
    if (change.unload && change.settings.holder_policy == "wait")
        steps.push_back({"holders.wait", "wait until no process holds the driver", holder_args(change)});
    if (change.files)
        steps.push_back(
            {"driver.prepare", "prepare firmware and module index of " + version, select_args(change)});
    if (change.modules)
        add_steps_before(change, steps);
    if (change.files)
        steps.push_back({"driver.select", "select " + version + " for kernel " + change.observed.kernel,
                         select_args(change)});
    if (const auto& units = change.observed.packaged_units; change.files && !units.empty())
        steps.push_back(
            {"units.reload", "reload the unit files of " + base::join(units, ", "), {{"units", units}}});
    if (change.modules || change.devices)
        steps.push_back(driver_devices_step());
    if (!steps.empty() || change.observed.autoload_blocked)
        add_steps_after(change, steps);
    return steps;
}

std::string unreadable(const Selection& selection, const std::string& kernel) {
    return "driver " + selection.generation.version + ", selected for " + kernel +
           ", cannot be read in the driver store, so it cannot be restored";
}

void add_reasons(const DriverChange& change, Plan& plan) {
    const Observed& observed = change.observed;
    const Selection* const selection = observed.selection();
    if (change.modules && !change.unload && observed.loaded_version == change.goal.version)
        plan.reasons.push_back("some modules of " + change.goal.version + " are not loaded");
    else if (change.modules && observed.loaded_version == change.goal.version)
        plan.reasons.push_back("the loaded modules of " + change.goal.version +
                               " are not those of the driver store");
    else if (change.modules)
        plan.reasons.push_back("loaded: " + gone_or(observed.loaded_version) +
                               ", wanted: " + change.goal.version);
    if (change.selects && selection != nullptr && selection->generation.version == change.goal.version)
        plan.reasons.push_back("the files of " + change.goal.version + " that are selected for " +
                               observed.kernel + " are not the ones to select from the store");
    else if (change.selects)
        plan.reasons.push_back("selected for " + observed.kernel + ": " +
                               gone_or(selection != nullptr ? selection->generation.version : std::string()) +
                               ", wanted: " + change.goal.version);
    if (selection != nullptr && !change.from)
        plan.reasons.push_back(unreadable(*selection, observed.kernel));
    for (const std::string& path : observed.wrong_files)
        plan.reasons.push_back("'" + path + "' does not point to the selected driver");
    if (selection != nullptr && options_differ(change))
        plan.reasons.push_back("ModuleParameters= differs from '" + std::string(options_file) + "'");
    if (change.devices)
        plan.reasons.push_back("device nodes are missing, or do not match the driver's settings");
    if (observed.autoload_blocked)
        plan.reasons.push_back("an interrupted swap left the autoload block in place");
    for (const GoalModule& module : change.loaded.modules)
        if (change.modules && module.name != "nouveau" && !names(change.goal, module.name))
            plan.reasons.push_back("module '" + module.name + "' is loaded, but driver " +
                                   change.goal.version + " has no module of that name");
    if (change.unload && !observed.console.empty())
        plan.reasons.push_back(describe_console(observed.console) +
                               " uses the driver; it is unbound until the other modules are loaded");
    if (plan.steps.empty())
        plan.reasons.push_back("driver " + change.goal.version + " is loaded and selected");
    else if (change.modules && observed.loaded_version.empty())
        plan.reasons.push_back("there is no previous driver to restore if this one fails");
    else if (change.unload && std::any_of(change.loaded.modules.begin(), change.loaded.modules.end(),
                                          [](const GoalModule& module) { return module.path.empty(); }))
        plan.reasons.push_back("modules of " + gone_or(observed.loaded_version) +
                               " are not in the driver store; an undo searches for them in /lib/modules");
}

void name_plan(const DriverRequest& request, const Observed& observed, Plan& plan) {
    plan.kind = request.kind == DriverRequest::Kind::Rollback ? "driver.rollback"
                : request.kind == DriverRequest::Kind::Swap   ? "driver.swap"
                                                              : "apply";
    if (request.version.empty()) // a rollback, but no driver was selected before
        plan.title = "roll back to the previous driver";
    else if (observed.loaded_version.empty())
        plan.title = "load driver " + request.version;
    else if (observed.loaded_version == request.version)
        plan.title = "keep driver " + request.version;
    else
        plan.title = "swap driver " + observed.loaded_version + " → " + request.version;
}

std::optional<Driver> choose(const DriverRequest& request, const Observed& observed,
                             std::vector<Problem>& problems) {
    if (request.kind == DriverRequest::Kind::Apply)
        if (auto driver = selected_driver(observed, request.settings, request.version))
            return driver;
    if (request.kind != DriverRequest::Kind::Rollback)
        return find_driver(observed, request.settings, request.version, problems);
    auto driver = driver_of(observed.store, *observed.selection()->previous);
    if (!driver)
        problems.push_back({Errc::NotFound,
                            "previous driver " + request.version + " is not in the driver store",
                            "Import it again: gpuhostctl driver import FILE…."});
    return driver;
}

/// Sets the flavour in request.settings, and adds reasons or a problem to the plan. Does nothing for a
/// rollback, which has the flavour of the previous generation.
void choose_flavour_for(DriverRequest& request, const Observed& observed, Plan& plan) {
    if (request.kind == DriverRequest::Kind::Rollback)
        return;
    FlavourChoice choice =
        choose_flavour(observed.store, request.version, request.settings.flavour, observed.gpus);
    request.settings.flavour = std::move(choice.flavour);
    for (std::string& reason : choice.reasons)
        plan.reasons.push_back(std::move(reason));
    if (!choice.problem)
        return;
    // In apply this is only a reason if the driver is selected already. One GPU that it does not support must
    // not prevent the use of the others.
    if (request.kind == DriverRequest::Kind::Apply &&
        selected_driver(observed, request.settings, request.version))
        plan.reasons.push_back(choice.problem->text);
    else
        plan.problems.push_back(*std::move(choice.problem));
}

void fill(DriverRequest request, const Observed& observed, const core::StepsAround& around, Plan& plan) {
    choose_flavour_for(request, observed, plan);
    const auto driver = choose(request, observed, plan.problems);
    if (!driver)
        return;
    const ModuleSet* const set = observed.store.find_modules(request.version, driver->generation.modules);
    DriverChange change{observed,
                        request.settings,
                        std::nullopt,
                        *driver,
                        goal_as_loaded(observed),
                        goal_for(*set, request.version, request.settings, observed, plan.problems),
                        {},
                        {}};
    change.around = around;
    change.units = observed.units;
    const Selection* const selection = observed.selection();
    if (selection != nullptr)
        change.from = driver_of(observed.store, selection->generation);
    if (selection != nullptr && !change.from && !observed.loaded_version.empty())
        plan.problems.push_back(
            {Errc::BadContent, unreadable(*selection, observed.kernel),
             "Import it again: gpuhostctl driver import FILE…; or unload the driver (rmmod) "
             "to swap without undo."});
    change.asked = request.kind != DriverRequest::Kind::Apply;
    change.unload = !to_unload(observed.loaded, change.goal).empty();
    change.modules = change.unload || lacks(observed.loaded, change.goal);
    change.selects = selection == nullptr || !(selection->generation == driver->generation);
    change.files = change.selects || !observed.wrong_files.empty() || options_differ(change);
    change.devices = !change.modules && !observed.devices_complete;
    if (change.modules && gpus_to_drive(observed.gpus).empty())
        plan.problems.push_back(
            {Errc::Unsupported, "no NVIDIA GPU for the driver on this host's PCI buses",
             "Check that the GPU is present and is not bound to vfio-pci: lspci -d 10de: -k."});
    plan.steps = make_steps(change);
    if (change.modules || change.selects)
        plan.driver = core::DriverChange{
            observed.kernel,
            change.modules || selection == nullptr ? observed.loaded_version : selection->generation.version,
            request.version};
    add_reasons(change, plan);
}

} // namespace

Step driver_devices_step() {
    return {"driver.devices", "create device nodes", {{"when", "forward"}}};
}

Plan driver_plan(const core::Desired& desired, const Observed& observed, const core::StepsAround& around) {
    const DriverRequest request = read_request(desired, observed);
    if (request.settings.owner != DriverOwner::Gpuhost)
        return hands_off_plan(request.settings.owner, request.verb, observed);
    Plan plan;
    name_plan(request, observed, plan);
    if (!is_policy(request.settings.holder_policy)) {
        plan.problems.push_back({Errc::InvalidArgument,
                                 "'" + request.settings.holder_policy + "' is not a valid policy for holders",
                                 "Use refuse, wait or terminate."});
    } else if (!request.version.empty()) {
        fill(request, observed, around, plan);
    } else if (request.kind == DriverRequest::Kind::Rollback) {
        plan.problems.push_back({Errc::NotFound,
                                 "no driver was selected for " + observed.kernel + " before this one",
                                 "Swap to a version by name: gpuhostctl driver swap VERSION."});
    } else if (request.kind == DriverRequest::Kind::Swap) {
        plan.problems.push_back({Errc::InvalidArgument, "no driver version is given, configured or selected",
                                 "Name one: gpuhostctl driver swap VERSION."});
    } else {
        plan.title = "nothing to do";
        plan.reasons.push_back("no driver version is configured or selected");
        plan.undecided = driver_to_choose(observed, request.settings);
    }
    return plan;
}

} // namespace gpuhost::kmod
