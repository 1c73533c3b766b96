// SPDX-License-Identifier: Apache-2.0
#include "kmod/clean_plan.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/select_plan.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::Json;
using core::Plan;

std::string kept_by_kernel(const std::string& version, const Observed& observed) {
    for (const auto& [kernel, selection] : observed.store.selected) {
        if (selection.generation.version == version)
            return "kernel " + kernel + " boots it";
        if (selection.previous && selection.previous->version == version)
            return "kernel " + kernel + " goes back to it";
    }
    return {};
}

/// Why it stays; empty: it need not.
std::string why_kept(const std::string& version, const std::string& in_use, const DriverSettings& settings,
                     const Observed& observed) {
    if (version == observed.loaded_version)
        return "it is loaded";
    if (std::string why = kept_by_kernel(version, observed); !why.empty())
        return why;
    if (std::find(settings.pins.begin(), settings.pins.end(), version) != settings.pins.end())
        return "it is pinned";
    if (in_use.empty() || observed.store.find(in_use) == nullptr)
        return "no version of the store is in use yet";
    const int order = compare_versions(version, in_use);
    return order == 0 ? "it is configured" : order > 0 ? "it is newer than " + in_use : std::string();
}

} // namespace

Plan clean_plan(const DriverSettings& settings, const Observed& observed) {
    Plan plan;
    plan.kind = "driver.clean";
    plan.changes_host = false;
    const std::string in_use = version_in_use(settings, observed);
    std::vector<std::string> going;
    for (const DriverVersion& version : observed.store.versions) {
        const std::string why = why_kept(version.version, in_use, settings, observed);
        plan.reasons.push_back(version.version + (why.empty() ? " is of no use any more" : " stays: " + why));
        if (why.empty())
            going.push_back(version.version);
    }
    plan.title = going.empty() ? "clean the driver store"
                               : "take " + base::join(going, ", ") + " out of the driver store";
    if (plan.reasons.empty())
        plan.reasons.emplace_back("the driver store is empty");
    // Nothing is deleted before all of it could be taken out.
    for (const std::string& version : going)
        plan.steps.push_back(
            {"store.remove", "take " + version + " out of the driver store", Json{{"version", version}}});
    for (const std::string& version : going)
        plan.steps.push_back(
            {"store.purge", "delete the files of " + version, Json{{"version", version}}, true});
    return plan;
}

} // namespace gpuhost::kmod
