// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/clean_plan.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/plan/select_plan.hpp"

#include <algorithm>

#include <string.h>

namespace gpuhost::kmod {
namespace {

using base::Json;
using core::Plan;

/// Returns why an installed kernel needs a generation for which `matches` returns true, as text. Empty: no
/// kernel needs one. `what`: "it" or "them".
template <class Matches>
std::string kept_by_kernel(const Observed& observed, const std::string& what, Matches matches) {
    for (const auto& [kernel, selection] : observed.store.selected) {
        if (matches(selection.generation))
            return "kernel " + kernel + " boots " + what;
        if (selection.previous && matches(*selection.previous))
            return "kernel " + kernel + " can roll back to " + what;
    }
    return {};
}

bool is_pinned(const std::string& version, const DriverSettings& settings) {
    return std::find(settings.pins.begin(), settings.pins.end(), version) != settings.pins.end();
}

/// Returns why a version is kept, as text for the plan. Empty: it may be removed. `in_use` is
/// version_in_use().
std::string why_kept(const std::string& version, const std::string& in_use, const DriverSettings& settings,
                     const Observed& observed) {
    if (version == observed.loaded_version)
        return "it is loaded";
    if (std::string why = kept_by_kernel(
            observed, "it", [&](const Generation& generation) { return generation.version == version; });
        !why.empty())
        return why;
    if (is_pinned(version, settings))
        return "it is pinned";
    if (in_use.empty() || observed.store.find(in_use) == nullptr)
        return "no version of the store is in use yet";
    const int order = base::compare_numbers(version, in_use);
    return order == 0 ? "it is configured" : order > 0 ? "it is newer than " + in_use : std::string();
}

/// Returns whether the kernel was probably installed before: it has a selection, or is older than the running
/// one. Modules of a newer kernel may be imported before that kernel is installed, so they are not removed.
bool was_there(const std::string& kernel, const Observed& observed) {
    return ::strverscmp(kernel.c_str(), observed.kernel.c_str()) < 0 ||
           std::any_of(observed.removed_kernels.begin(), observed.removed_kernels.end(),
                       [&](const RemovedKernel& gone) { return gone.release == kernel; });
}

/// Returns whether the kernel was removed. Returns false if no installed kernel was found at all, because
/// /lib/modules is probably not mounted. Returns false also for the kernel to which the link `current` leads,
/// since programs find their libraries through it.
bool is_gone(const std::string& kernel, const Observed& observed) {
    return !observed.kernels.empty() && kernel != observed.kernel && was_there(kernel, observed) &&
           observed.current != userland_link_of(kernel) &&
           std::none_of(observed.kernels.begin(), observed.kernels.end(),
                        [&](const InstalledKernel& installed) { return installed.release == kernel; });
}

/// Returns whether an undo of a swap would load modules of this set again.
bool undo_would_load(const ModuleSet& set, const Observed& observed) {
    const ModuleGoal loaded = goal_as_loaded(observed);
    return std::any_of(loaded.modules.begin(), loaded.modules.end(), [&](const GoalModule& module) {
        return base::starts_with(module.path, set.path + "/");
    });
}

/// Returns why a module set is kept that is superseded, or whose kernel was removed. The set is part of a
/// version that stays. Empty: the set may be removed. A pin keeps the newest set of each kernel.
std::string why_kept(const DriverVersion& version, const ModuleSet& set, const DriverSettings& settings,
                     const Observed& observed) {
    if (is_pinned(version.version, settings) && !is_superseded(version, set))
        return "the version is pinned";
    if (undo_would_load(set, observed))
        return "they are loaded";
    return kept_by_kernel(observed, "them", [&](const Generation& generation) {
        return generation.version == version.version && generation.modules == set.digest;
    });
}

/// A version or module set to remove, with the args of its steps.
struct Going {
    std::string name; ///< name for texts: "550.163.01", "the open modules of 550.163.01 for 6.1.0-40-amd64"
    Json args;
};

std::vector<Going> versions_to_go(const DriverSettings& settings, const Observed& observed, Plan& plan) {
    const std::string in_use = version_in_use(settings, observed);
    std::vector<Going> going;
    for (const DriverVersion& version : observed.store.versions) {
        const std::string why = why_kept(version.version, in_use, settings, observed);
        plan.reasons.push_back(version.version + (why.empty() ? " is no longer needed" : " is kept: " + why));
        if (why.empty())
            going.push_back({version.version, {{"version", version.version}}});
    }
    return going;
}

bool goes(const std::vector<Going>& versions, const std::string& version) {
    return std::any_of(versions.begin(), versions.end(),
                       [&](const Going& going) { return going.name == version; });
}

std::vector<Going> sets_to_go(const std::vector<Going>& versions, const DriverSettings& settings,
                              const Observed& observed, Plan& plan) {
    std::vector<Going> going;
    for (const DriverVersion& version : observed.store.versions)
        for (const ModuleSet& set : version.modules) {
            const bool superseded = is_superseded(version, set);
            if (goes(versions, version.version) || (!superseded && !is_gone(set.kernel, observed)))
                continue;
            const std::string why = why_kept(version, set, settings, observed);
            const std::string name = std::string("the ") + (superseded ? "superseded " : "") + set.flavour +
                                     " modules of " + version.version + " for " + set.kernel;
            const std::string unneeded =
                superseded ? "newer ones are stored" : "that kernel is not installed";
            plan.reasons.push_back(
                name + (why.empty() ? " are no longer needed: " + unneeded : " are kept: " + why));
            if (why.empty())
                going.push_back({name,
                                 {{"version", version.version},
                                  {"kernel", set.kernel},
                                  {"flavour", set.flavour},
                                  {"digest", set.digest}}});
        }
    return going;
}

std::string title(const std::vector<Going>& versions, const std::vector<Going>& sets) {
    std::vector<std::string> names;
    names.reserve(versions.size() + 1);
    for (const Going& version : versions)
        names.push_back(version.name);
    if (sets.size() == 1)
        names.push_back(sets.front().name);
    else if (!sets.empty())
        names.push_back(std::to_string(sets.size()) + " module sets");
    return names.empty() ? "clean the driver store"
                         : "remove " + base::join(names, ", ") + " from the driver store";
}

} // namespace

Plan clean_plan(const DriverSettings& settings, const Observed& observed) {
    Plan plan;
    plan.kind = "driver.clean";
    plan.changes_host = false;
    std::vector<Going> going = versions_to_go(settings, observed, plan);
    const std::vector<Going> sets = sets_to_go(going, settings, observed, plan);
    plan.title = title(going, sets);
    going.insert(going.end(), sets.begin(), sets.end());
    if (plan.reasons.empty())
        plan.reasons.emplace_back("the driver store is empty");
    // Removes the links to sets first, then the sets.
    for (const RemovedKernel& kernel : observed.removed_kernels)
        if (is_gone(kernel.release, observed)) {
            plan.reasons.push_back("kernel " + kernel.release + " is no longer installed");
            plan.steps.push_back(
                {"store.forget", "remove the selection of kernel " + kernel.release, to_json(kernel)});
        }
    // All store.remove steps precede the first store.purge, after which nothing can be undone.
    for (const Going& one : going)
        plan.steps.push_back({"store.remove", "remove " + one.name + " from the driver store", one.args});
    for (const Going& one : going)
        plan.steps.push_back({"store.purge", "delete the files of " + one.name, one.args, true});
    return plan;
}

} // namespace gpuhost::kmod
