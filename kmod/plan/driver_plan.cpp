// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_plan.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/boot/initramfs.hpp"
#include "kmod/load/console.hpp"
#include "kmod/module/graph.hpp"
#include "kmod/plan/driver_choice.hpp"
#include "kmod/plan/select_plan.hpp"
#include "kmod/store/flavour_choice.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Json;
using core::Plan;
using core::Problem;
using core::Step;

/// A request, or apply without a request, with the driver version that is wanted. `settings` contains the
/// values that the request overrides.
struct DriverRequest {
    std::string verb; ///< "swap" or "rollback"; empty: apply
    DriverSettings settings;
    std::string version; ///< the wanted version; empty: none

    [[nodiscard]] bool applies() const { return verb.empty(); }
    [[nodiscard]] bool rolls_back() const { return verb == "rollback"; }
};

DriverRequest read_request(const core::Desired& desired, const Observed& observed) {
    const Json& given = base::member(desired.request, "driver");
    DriverRequest request{base::string_or(given, "request", ""), driver_settings(desired.settings), {}};
    request.settings.holder_policy = base::string_or(given, "holders", request.settings.holder_policy);
    const std::int64_t timeout = base::int_or(given, "holder-timeout-usec", -1);
    if (timeout >= 0)
        request.settings.holder_timeout = std::chrono::milliseconds(timeout / 1000);
    if (request.rolls_back()) {
        const Selection* const selection = observed.selection();
        if (selection != nullptr && selection->previous)
            request.version = selection->previous->version;
        return request;
    }
    request.version = base::string_or(given, "version", request.settings.version);
    if (request.version.empty())
        request.version = version_in_use(request.settings, observed);
    return request;
}

/// The change of the selection files.
enum class Files {
    Keep,
    Repair, ///< the same generation stays selected; links or options are wrong
    Select, ///< another generation is selected
};

/// The change of the loaded modules.
enum class Modules {
    Keep,
    /// The selected driver only has to be loaded, as at boot. Automatic loading is not blocked, because other
    /// programs, such as udev, load the same driver.
    LoadSelected,
    Load,   ///< modules are loaded, and none is unloaded
    Swap,   ///< modules are unloaded first
    Reload, ///< all are unloaded first, because the kernel can't tell them from those of the goal
};

/// The facts from which make_steps() makes the steps of a plan.
struct DriverChange {
    const Observed& observed;
    const DriverSettings& settings;
    std::optional<Driver> from; ///< the driver that is selected now
    Driver to;
    ModuleGoal loaded; ///< goal_as_loaded()
    ModuleGoal goal;   ///< goal_for() the new driver
    Files files = Files::Keep;
    Modules modules = Modules::Keep;

    [[nodiscard]] bool unloads() const { return modules == Modules::Swap || modules == Modules::Reload; }
    [[nodiscard]] bool lacks_devices() const {
        return modules == Modules::Keep && !observed.devices_complete;
    }
};

bool options_differ(const Observed& observed, const DriverSettings& settings) {
    return observed.options != modprobe_options(settings.parameters);
}

bool is_policy(const std::string& word) {
    const auto keys = driver_setting_keys();
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [](const core::SettingKey& known) { return known.key == "HolderPolicy"; });
    return base::contains(base::split_words(key->choices), word);
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

Json holder_args(const DriverChange& change, const core::StepsAround& around) {
    const bool saves_mig = std::any_of(around.before.begin(), around.before.end(),
                                       [](const Step& step) { return step.kind == "mig.save"; });
    return {{"policy", change.settings.holder_policy},
            {"units", change.observed.units},
            {"timeout_usec", usec(change.settings.holder_timeout)},
            {"grace_usec", usec(change.settings.terminate_grace)},
            {"saves_mig", saves_mig}};
}

Json selection_args(const DriverChange& change) {
    const Observed& observed = change.observed;
    const Selection next{change.to.generation,
                         previous_of(observed.store, observed.selection(), change.to.generation)};
    return select_args(change.observed, change.observed.kernel, change.to, next,
                       modprobe_options(change.settings.parameters));
}

/// Returns the PCI addresses of the GPUs that the new driver must serve: all that the previous driver serves.
/// If one is not served, the swap is undone. Empty if the plan unloads no module, as at boot: one GPU that
/// does not work must not prevent the use of the others.
std::vector<std::string> gpus_to_serve(const DriverChange& change) {
    return change.unloads() ? probed_gpus(change.observed.gpus).driven : std::vector<std::string>();
}

Json converge_args(const DriverChange& change, const ModuleGoal& from, const ModuleGoal& to) {
    return {{"kernel", change.observed.kernel},
            {"from", to_json(from)},
            {"to", to_json(to)},
            {"gpus", gpus_to_serve(change)},
            {"selects", change.files == Files::Select},
            {"console", !change.observed.console.empty()},
            {"policy", change.settings.holder_policy},
            {"module_deadline_usec", usec(change.settings.module_deadline)},
            {"grace_usec", usec(change.settings.terminate_grace)}};
}

/// Returns the steps that load the modules of the goal. A step knows modules by version and srcversion. For
/// a reload these are equal, so that only a step to no modules at all unloads those of before.
std::vector<Step> converge_steps(const DriverChange& change) {
    const std::string load = "load nvidia " + change.goal.version;
    if (change.modules != Modules::Reload)
        return {{"modules.converge", load + " in place of " + gone_or(change.loaded.version),
                 converge_args(change, change.loaded, change.goal)}};
    const ModuleGoal none;
    Json second = converge_args(change, none, change.goal);
    second["reloads"] = true;
    return {{"modules.converge", "unload nvidia " + change.loaded.version,
             converge_args(change, change.loaded, none)},
            {"modules.converge", load, std::move(second)}};
}

/// Returns the args of autoload.block and autoload.unblock: the modules of both drivers, and nouveau, which
/// udev would load while GPUs have no driver.
Json autoload_args(const DriverChange& change) {
    std::set<std::string> names{"nouveau"};
    for (const ModuleGoal* goal : {&change.loaded, &change.goal})
        for (const GoalModule& module : goal->modules)
            names.insert(module.name);
    return {{"modules", names}};
}

constexpr const char* fabric_manager = "nvidia-fabricmanager.service";

/// Returns the steps of the plan: those rows of the table that apply, in its order.
std::vector<Step> make_steps(const DriverChange& change, const core::StepsAround& around) {
    const Observed& observed = change.observed;
    const std::string& version = change.goal.version;
    const std::string& validation = change.settings.validation;
    const std::vector<std::string>& packaged = observed.packaged_units;
    const bool swaps = change.unloads();
    const bool loads = change.modules != Modules::Keep;
    const bool blocks = loads && change.modules != Modules::LoadSelected;
    const bool writes = change.files != Files::Keep;
    const bool devices = loads || change.lacks_devices();
    const bool changes = writes || devices || observed.autoload_blocked;
    const std::vector<std::string> units = swaps ? observed.units : std::vector<std::string>();
    const std::string unit_names = base::join(units, ", ");
    // GPUs that are connected by NVSwitches can compute only while the fabric manager runs.
    const bool fabric = base::contains(units, fabric_manager);
    // If the plan loads no module, GPUs may be in use, with too little free memory for the computation.
    const bool computes = loads && validation == "cuda";
    const Json selection = selection_args(change);
    const struct {
        bool when;
        std::vector<Step> steps;
    } table[] = {
        // This step is first, because it may last minutes, and its result does not become outdated.
        {change.files == Files::Select,
         initramfs_steps(change.settings, observed.initramfs, observed.kernel)},
        {swaps, around.first},
        {swaps && change.settings.holder_policy == "wait",
         {{"holders.wait", "wait until no process holds the driver", holder_args(change, around), false,
           true}}},
        {writes, {{"driver.prepare", "prepare firmware and module index of " + version, selection}}},
        {blocks, {{"autoload.block", "block automatic loading of driver modules", autoload_args(change)}}},
        {!units.empty(), {{"units.stop", "stop " + unit_names, {{"units", units}}}}},
        {swaps, around.before},
        {swaps, {{"holders.clear", "ensure that no process holds the driver", holder_args(change, around)}}},
        {blocks, {driver_devices_back_step("restore device nodes if the swap is undone")}},
        {loads, converge_steps(change)},
        {blocks,
         {{.kind = "units.quiesce",
           .summary = "stop client units if the swap is undone",
           .args = {{"units", observed.units}},
           .undo_only = true}}},
        {writes, {{"driver.select", "select " + version + " for kernel " + observed.kernel, selection}}},
        {writes && !packaged.empty(),
         {{"units.reload", "reload the unit files of " + base::join(packaged, ", "), {{"units", packaged}}}}},
        {devices, {driver_devices_step()}},
        {changes,
         {{"driver.validate",
           "validate driver " + version + " (" + validation + ")",
           {{"level", validation},
            {"goal", to_json(change.goal)},
            {"gpus", gpus_to_serve(change)},
            {"userland", change.to.userland},
            {"units", units}}}}},
        {computes && fabric,
         {{"units.start",
           std::string("start ") + fabric_manager,
           {{"units", units}, {"only", {fabric_manager}}}}}},
        {computes,
         {{"driver.compute",
           "compute on each GPU",
           {{"userland", change.to.userland}, {"gpus", gpus_to_serve(change)}, {"fabric", fabric}}}}},
        // After the computation: with a MIG instance CUDA lists that instance and no GPU.
        {swaps, around.validated},
        // Nothing is undone from here on: containers and clients may use the new driver, so that it could not
        // be unloaded.
        {blocks || observed.autoload_blocked,
         {{"autoload.unblock", "allow automatic loading of driver modules", autoload_args(change), true}}},
        {changes, around.after},
        {!units.empty(), {{"units.start", "start " + unit_names, {{"units", units}}}}},
        // These steps run again, because client units have created sockets, which CDI specifications list.
        {!units.empty(), around.after},
    };
    std::vector<Step> steps;
    for (const auto& row : table)
        if (row.when)
            steps.insert(steps.end(), row.steps.begin(), row.steps.end());
    return steps;
}

std::string unreadable(const Selection& selection, const std::string& kernel) {
    return "driver " + selection.generation.version + ", selected for " + kernel +
           ", cannot be read in the driver store, so it cannot be restored";
}

void add_reasons(const DriverChange& change, Plan& plan) {
    const Observed& observed = change.observed;
    const Selection* const selection = observed.selection();
    const std::string& version = change.goal.version;
    const bool loads = change.modules != Modules::Keep;
    const bool swaps = change.unloads();
    if (loads && observed.loaded_version != version)
        plan.reasons.push_back("loaded: " + gone_or(observed.loaded_version) + ", wanted: " + version);
    else if (change.modules == Modules::Reload)
        plan.reasons.push_back("the loaded modules of " + version +
                               " are of another import or build than those to select");
    else if (swaps)
        plan.reasons.push_back("the loaded modules of " + version + " are not those of the driver store");
    else if (loads)
        plan.reasons.push_back("some modules of " + version + " are not loaded");
    if (change.files == Files::Select) {
        const std::string selected = selection != nullptr ? selection->generation.version : std::string();
        plan.reasons.push_back(selected == version
                                   ? "the files of " + version + " that are selected for " + observed.kernel +
                                         " are not the ones to select from the store"
                                   : "selected for " + observed.kernel + ": " + gone_or(selected) +
                                         ", wanted: " + version);
    }
    if (selection != nullptr && !change.from)
        plan.reasons.push_back(unreadable(*selection, observed.kernel));
    for (const std::string& path : observed.wrong_files)
        plan.reasons.push_back("'" + path + "' does not point to the selected driver");
    if (selection != nullptr && options_differ(observed, change.settings))
        plan.reasons.push_back("ModuleParameters= differs from '" + std::string(options_file) + "'");
    if (change.lacks_devices())
        plan.reasons.push_back("device nodes are missing, or do not match the driver's settings");
    if (observed.autoload_blocked)
        plan.reasons.push_back("an interrupted swap left the autoload block in place");
    for (const GoalModule& module : change.loaded.modules)
        if (loads && module.name != "nouveau" && !names(change.goal, module.name))
            plan.reasons.push_back("module '" + module.name + "' is loaded, but driver " + version +
                                   " has no module of that name");
    if (swaps && !observed.console.empty())
        plan.reasons.push_back(describe_console(observed.console) +
                               " uses the driver; it is unbound until the other modules are loaded");
    if (plan.steps.empty())
        plan.reasons.push_back("driver " + version + " is loaded and selected");
    else if (loads && observed.loaded_version.empty())
        plan.reasons.push_back("there is no previous driver to restore if this one fails");
    else if (swaps && std::any_of(change.loaded.modules.begin(), change.loaded.modules.end(),
                                  [](const GoalModule& module) { return module.path.empty(); }))
        plan.reasons.push_back("modules of " + gone_or(observed.loaded_version) +
                               " are not in the driver store; an undo searches for them in /lib/modules");
}

void name_plan(const DriverRequest& request, const Observed& observed, Plan& plan) {
    plan.kind = request.applies() ? "apply" : "driver." + request.verb;
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
    if (request.applies())
        if (auto driver = selected_driver(observed, request.settings.flavour, request.version))
            return driver;
    if (!request.rolls_back())
        return find_driver(observed, observed.kernel, request.settings.flavour, request.version, problems);
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
    if (request.rolls_back())
        return;
    FlavourChoice choice =
        choose_flavour(observed.store, request.version, request.settings.flavour, observed.gpus);
    request.settings.flavour = std::move(choice.flavour);
    for (std::string& reason : choice.reasons)
        plan.reasons.push_back(std::move(reason));
    if (!choice.problem)
        return;
    // In apply, the problem becomes a mere reason if the driver is selected already. One GPU that the driver
    // does not support must not prevent the use of the others.
    if (request.applies() && selected_driver(observed, request.settings.flavour, request.version))
        plan.reasons.push_back(choice.problem->text);
    else
        plan.problems.push_back(*std::move(choice.problem));
}

/// Returns whether a set that was never loaded would be selected in place of the loaded one, of the same
/// version and source. It may not work, for example if it was built with other headers, and must be loaded
/// before the next boot needs it. A signed set in place of an unsigned one is taken for a signed copy, with
/// the same code: driver.build makes it without a compiler.
bool must_reload(const DriverChange& change) {
    const Observed& observed = change.observed;
    if (!change.from || observed.loaded_version.empty() ||
        change.from->generation.version != change.to.generation.version ||
        change.from->generation.modules == change.to.generation.modules)
        return false;
    const std::string& version = change.to.generation.version;
    const ModuleSet* const before = observed.store.find_modules(version, change.from->generation.modules);
    const ModuleSet* const next = observed.store.find_modules(version, change.to.generation.modules);
    return before != nullptr && next != nullptr && (is_signed(*before) || !is_signed(*next));
}

/// Sets change.files and change.modules. `applies`: the plan is for apply, not for a request.
void compare(DriverChange& change, bool applies) {
    const Observed& observed = change.observed;
    const Selection* const selection = observed.selection();
    if (selection == nullptr || selection->generation != change.to.generation)
        change.files = Files::Select;
    else if (!observed.wrong_files.empty() || options_differ(observed, change.settings))
        change.files = Files::Repair;
    const std::size_t going = to_unload(observed.loaded, change.goal).size();
    if (going < observed.loaded.size() && must_reload(change))
        change.modules = Modules::Reload;
    else if (going > 0)
        change.modules = Modules::Swap;
    else if (lacks(observed.loaded, change.goal))
        change.modules = applies && change.files == Files::Keep ? Modules::LoadSelected : Modules::Load;
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
                        goal_for(*set, request.version, request.settings, observed, plan.problems)};
    const Selection* const selection = observed.selection();
    if (selection != nullptr)
        change.from = driver_of(observed.store, selection->generation);
    if (selection != nullptr && !change.from && !observed.loaded_version.empty())
        plan.problems.push_back(
            {Errc::BadContent, unreadable(*selection, observed.kernel),
             "Import it again: gpuhostctl driver import FILE…; or unload the driver (rmmod) "
             "to swap without undo."});
    compare(change, request.applies());
    if (change.modules == Modules::Reload)
        plan.title = "reload driver " + request.version;
    const bool loads = change.modules != Modules::Keep;
    if (loads && gpus_to_drive(observed.gpus).empty())
        plan.problems.push_back(
            {Errc::Unsupported, "no NVIDIA GPU for the driver on this host's PCI buses",
             "Check that the GPU is present and is not bound to vfio-pci: lspci -d 10de: -k."});
    plan.steps = make_steps(change, around);
    if (loads || change.files == Files::Select)
        plan.driver = core::DriverChange{observed.kernel,
                                         loads || selection == nullptr ? observed.loaded_version
                                                                       : selection->generation.version,
                                         request.version};
    add_reasons(change, plan);
}

} // namespace

Step driver_devices_step() {
    return {"driver.devices", "create device nodes", {{"when", "forward"}}};
}

Step driver_devices_back_step(std::string summary) {
    return {.kind = "driver.devices",
            .summary = std::move(summary),
            .args = {{"when", "back"}},
            .undo_only = true};
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
    } else if (request.rolls_back()) {
        plan.problems.push_back({Errc::NotFound,
                                 "no driver was selected for " + observed.kernel + " before this one",
                                 "Swap to a version by name: gpuhostctl driver swap VERSION."});
    } else if (!request.applies()) {
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
