// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/select_plan.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/boot/initramfs.hpp"
#include "kmod/store/flavour_choice.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::contains;
using base::Errc;
using base::Json;
using core::Plan;

Json json_or_null(const std::optional<Driver>& driver) {
    return driver ? to_json(*driver) : Json();
}
Json json_or_null(const std::optional<Selection>& selection) {
    return selection ? to_json(*selection) : Json();
}

/// Returns whether a selection for `kernel` changes only the files of that kernel ("boots_only" of
/// driver.select). Files that all kernels share (libraries, programs, options) belong to the running kernel,
/// or to the kernel to which the link `current` leads. A plan at the boot of another kernel changes them.
bool boots_only(const Observed& observed, const std::string& kernel) {
    return kernel != observed.kernel && observed.current != userland_link_of(kernel);
}

Json args_for(const Observed& observed, const std::string& kernel, const std::optional<Driver>& to,
              const std::optional<Selection>& next, const std::string& options) {
    Json args = select_args(observed, kernel, to, next, options);
    args["boots_only"] = boots_only(observed, kernel);
    return args;
}

/// Adds the problem that gpuhostd does not manage the driver because of Version=`value`.
void refuse(const std::string& value, Plan& plan) {
    plan.problems.push_back(
        {Errc::Refused, "Version=" + value + " in gpuhostd.conf: gpuhostd does not manage the driver",
         "To manage the driver with gpuhostd, set Version= to a driver version or remove it."});
}

void check_preinstalled(const Observed& observed, Plan& plan) {
    const ProbedGpus gpus = probed_gpus(observed.gpus);
    if (gpus.driven.empty() && gpus.left.empty())
        plan.reasons.emplace_back("there is no NVIDIA GPU for a driver on this host's PCI buses");
    else if (observed.loaded_version.empty())
        plan.problems.push_back(
            {Errc::NotFound,
             "no NVIDIA driver is loaded, and gpuhostd does not load one with Version=preinstalled",
             "Load it (modprobe nvidia), or find out why it was not loaded: journalctl -k."});
    else if (gpus.driven.empty())
        plan.problems.push_back(
            {Errc::Failed,
             "driver " + observed.loaded_version + " does not drive " + base::join(gpus.left, ", "),
             "See the kernel's log: journalctl -k -g NVRM."});
    else if (!observed.devices_complete)
        plan.problems.push_back(
            {Errc::NotFound, "driver " + observed.loaded_version + " is loaded, but device nodes are missing",
             "Create them (nvidia-modprobe -c 0 -u), or start nvidia-persistenced."});
    else
        plan.reasons.push_back(
            "driver " + observed.loaded_version + " is preinstalled and loaded" +
            (gpus.left.empty() ? "" : "; it does not drive " + base::join(gpus.left, ", ")));
    if (const Selection* const left = observed.selection())
        plan.problems.push_back(
            {Errc::Refused,
             "driver " + left->generation.version + " of gpuhostd's store is still selected for this kernel",
             "Release it: gpuhostctl driver release."});
}

/// Returns the installed kernels for which to select: `kernels`, or all installed kernels except the running
/// one. Adds problems about kernels that are not valid. The result may be empty without a problem: a host may
/// have only one kernel.
std::vector<std::string> kernels_to_select(const std::vector<std::string>& kernels, const Observed& observed,
                                           Plan& plan) {
    std::vector<std::string> installed;
    for (const InstalledKernel& kernel : observed.kernels)
        installed.push_back(kernel.release);
    std::vector<std::string> wanted;
    for (const std::string& kernel : kernels.empty() ? installed : kernels) {
        if (!contains(installed, kernel))
            plan.problems.push_back({Errc::NotFound, "kernel '" + kernel + "' is not installed",
                                     "List the installed kernels: ls /lib/modules."});
        else if (kernel == observed.kernel && !kernels.empty())
            plan.problems.push_back({Errc::InvalidArgument, "kernel " + kernel + " is running",
                                     "Change its driver: gpuhostctl driver swap VERSION."});
        else if (kernel != observed.kernel && !contains(wanted, kernel))
            wanted.push_back(kernel);
    }
    return wanted;
}

/// Returns the flavour of the modules that other kernels of this host boot, if `version` has modules of that
/// flavour for `kernel`; else "any". Called if no GPU is visible, as in a mounted system.
std::string flavour_without_gpus(const Store& store, const std::string& version, const std::string& kernel) {
    for (const auto& [other, selection] : store.selected)
        if (const DriverVersion* const known = store.find(selection.generation.version); known != nullptr)
            for (const ModuleSet& set : known->modules)
                if (set.digest == selection.generation.modules &&
                    store.modules_for(version, kernel, set.flavour) != nullptr)
                    return set.flavour;
    return "any";
}

void select_for(const std::string& kernel, const std::string& version, const DriverSettings& settings,
                const Observed& observed, Plan& plan) {
    const Selection* const before = observed.store.selection_of(kernel);
    const std::string flavour = settings.flavour == "any" && observed.gpus.empty()
                                    ? flavour_without_gpus(observed.store, version, kernel)
                                    : settings.flavour;
    const auto to = find_driver(observed, kernel, flavour, version, plan.problems);
    if (!to)
        return;
    if (before != nullptr && before->generation == to->generation) {
        plan.reasons.push_back("kernel " + kernel + " already boots " + version);
        return;
    }
    plan.reasons.push_back("kernel " + kernel + " boots " +
                           (before != nullptr ? before->generation.version : "no driver") +
                           ", wanted: " + version);
    const Selection next{to->generation, previous_of(observed.store, before, to->generation)};
    if (flavour != settings.flavour)
        plan.reasons.push_back("no GPU is visible, so " + kernel + " gets " + flavour +
                               " modules as other kernels do; to change this, set Flavour= in gpuhostd.conf");
    const Json args = args_for(observed, kernel, to, next, observed.options);
    const std::vector<core::Step> clearing = initramfs_steps(settings, observed.initramfs, kernel);
    plan.steps.insert(plan.steps.end(), clearing.begin(), clearing.end());
    plan.steps.push_back(
        {"driver.prepare", "prepare firmware and module index of " + version + " for " + kernel, args});
    plan.steps.push_back({"driver.select", "select " + version + " for kernel " + kernel, args});
}

std::string owner_word(DriverOwner owner) {
    return owner == DriverOwner::Nobody ? "off" : "preinstalled";
}

} // namespace

Json select_args(const Observed& observed, const std::string& kernel, const std::optional<Driver>& to,
                 const std::optional<Selection>& next, const std::string& options) {
    const Selection* const before = observed.store.selection_of(kernel);
    const auto from = before != nullptr ? driver_of(observed.store, before->generation) : std::nullopt;
    return {{"kernel", kernel},
            {"from", json_or_null(from)},
            {"to", json_or_null(to)},
            {"options_from", observed.options},
            {"options_to", options},
            {"current_from", observed.current},
            {"selection_from", before != nullptr ? to_json(*before) : Json()},
            {"selection_to", json_or_null(next)}};
}

Plan hands_off_plan(DriverOwner owner, const std::string& request, const Observed& observed) {
    Plan plan;
    plan.kind = request.empty() ? "apply" : "driver." + request;
    plan.title = "nothing to do";
    if (!request.empty()) {
        plan.title = request + " the driver";
        refuse(owner_word(owner), plan);
    } else if (owner == DriverOwner::Preinstalled) {
        check_preinstalled(observed, plan);
    } else {
        plan.reasons.emplace_back("Version=off: gpuhostd does not manage the driver");
    }
    return plan;
}

Plan select_plan(const std::string& version, const std::vector<std::string>& kernels,
                 const DriverSettings& settings, const Observed& observed) {
    Plan plan;
    plan.kind = "driver.select";
    const std::string wanted = version.empty() ? version_in_use(settings, observed) : version;
    plan.title = "select driver " + wanted + " for other installed kernels";
    if (settings.owner != DriverOwner::Gpuhost)
        refuse(owner_word(settings.owner), plan);
    else if (!settings.version.empty() && settings.version != wanted)
        plan.problems.push_back({Errc::Refused,
                                 "Version=" + settings.version +
                                     " in gpuhostd.conf applies to each kernel of this host when it boots",
                                 "Set Version= to " + wanted + " there, or remove it."});
    else if (wanted.empty())
        plan.problems.push_back({Errc::InvalidArgument, "no driver version is given, configured or selected",
                                 "Name one: gpuhostctl driver set-default VERSION."});
    if (!plan.problems.empty())
        return plan;
    FlavourChoice choice = choose_flavour(observed.store, wanted, settings.flavour, observed.gpus);
    if (choice.problem)
        plan.problems.push_back(*std::move(choice.problem));
    DriverSettings chosen = settings;
    chosen.flavour = choice.flavour;
    for (const std::string& kernel : kernels_to_select(kernels, observed, plan))
        select_for(kernel, wanted, chosen, observed, plan);
    if (!plan.problems.empty())
        plan.steps.clear();
    else if (plan.reasons.empty())
        plan.reasons.emplace_back("no other kernel is installed");
    return plan;
}

Plan deselect_plan(const DriverSettings& settings, const Observed& observed,
                   const core::StepsAround& around) {
    Plan plan;
    plan.kind = "driver.deselect";
    plan.title = "clear the driver selection of all kernels";
    std::vector<std::string> kernels;
    for (const auto& [kernel, selection] : observed.store.selected)
        kernels.push_back(kernel);
    if (kernels.empty()) {
        plan.reasons.emplace_back("no driver is selected");
        return plan;
    }
    if (!settings.version.empty()) {
        plan.problems.push_back(
            {Errc::Refused,
             "Version=" + settings.version + " in gpuhostd.conf: gpuhostd manages the driver of this host",
             "Set Version= to preinstalled or off first. If the daemon is running, reload it: gpuhostctl "
             "reload."});
        return plan;
    }
    if (!observed.loaded_version.empty())
        plan.reasons.push_back("driver " + observed.loaded_version +
                               " stays loaded until the next boot; programs no longer find its libraries");
    else
        plan.reasons.emplace_back("the next boot loads another installed driver, or none");
    // The kernel to which the link `current` leads is last, because files that all kernels share are removed
    // with it. It need not be the running kernel.
    const auto rank = [&](const std::string& kernel) {
        return observed.current == userland_link_of(kernel) ? 2 : boots_only(observed, kernel) ? 0 : 1;
    };
    std::stable_sort(kernels.begin(), kernels.end(),
                     [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    for (const std::string& kernel : kernels)
        plan.steps.push_back({"driver.select", "clear the driver selection of kernel " + kernel,
                              args_for(observed, kernel, std::nullopt, std::nullopt, {})});
    plan.steps.insert(plan.steps.end(), around.after.begin(), around.after.end());
    return plan;
}

std::string version_in_use(const DriverSettings& settings, const Observed& observed) {
    if (!settings.version.empty())
        return settings.version;
    if (const Selection* const selection = observed.selection())
        return selection->generation.version;
    for (const auto& [kernel, selection] : observed.store.selected)
        if (observed.current == userland_link_of(kernel))
            return selection.generation.version;
    return {};
}

} // namespace gpuhost::kmod
