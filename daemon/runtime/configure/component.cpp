// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/component.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/configure/steps.hpp"
#include "daemon/runtime/inspect/cdi_record.hpp"
#include "daemon/runtime/inspect/cdi_support.hpp"
#include "daemon/runtime/inspect/containerd_registries.hpp"
#include "daemon/runtime/inspect/runtime_record.hpp"
#include "daemon/runtime/toolkit/choice.hpp"
#include "daemon/runtime/toolkit/steps.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using core::Plan;

namespace {

/// Returns the recorded inputs that changed since the runtime was configured.
std::vector<std::string> changed_inputs(const base::Root& root, const RecordedRuntime& recorded) {
    std::vector<std::string> changed;
    for (const auto& [path, stamp] : recorded.inputs)
        if (stamp_of(root, path) != stamp)
            changed.push_back(path);
    return changed;
}

bool is_chosen(const RuntimeSettings& settings, const std::string& name) {
    const auto& names = settings.runtimes;
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

Json observe_runtime(const base::Root& root, const std::string& name, const RecordedRuntime& recorded,
                     const std::string& spec_version) {
    const bool is_ready = recorded.outcome == "nothing" || recorded.outcome == "configured";
    const bool is_too_old = is_ready && !reads_specs(recorded, spec_version);
    return {{"name", name},
            {"kind", recorded.kind},
            {"serves_cri", recorded.serves_cri},
            {"state", is_too_old                      ? "by-hand"
                      : recorded.outcome == "nothing" ? "ready"
                      : recorded.outcome == "refused" ? "problem"
                      : recorded.outcome.empty()      ? "changing"
                                                      : recorded.outcome},
            {"text", is_too_old ? too_new_text(spec_version) : recorded.text},
            {"restart_wanted", awaits_restart(root, recorded)},
            {"withholds_gpus", withholds_gpus(root, recorded)},
            {"restart_text", recorded.restart_text},
            {"was_restarted", recorded.awaits && !awaits_restart(root, recorded)}};
}

Json to_json(const ToolkitPlace& place) {
    return {{"directory", place.directory}, {"programs", place.programs}, {"fallback", place.otherwise}};
}

ToolkitPlace place_from_json(const Json& value) {
    return {base::string_or(value, "directory", ""), base::string_or(value, "programs", ""),
            base::string_or(value, "fallback", "")};
}

/// Returns why the recorded settings no longer apply; empty if they do. If no bundle has images any more,
/// certs.d stays configured: removing it would need a restart and have no effect.
std::string what_changed(const Json& recorded, const RuntimeSettings& settings) {
    const bool had_hosts = base::bool_or(recorded, "registry_hosts", false);
    RuntimeSettings otherwise = settings;
    otherwise.registry_hosts = had_hosts;
    // The conversion from JSON adds settings that an earlier build did not record.
    if (to_json(runtime_settings_from_json(recorded)) != effective_settings(otherwise))
        return "the settings in section [Runtime] or [CDI] have changed";
    return settings.registry_hosts && !had_hosts
               ? "pods must be able to pull the images of this host's bundles"
               : "";
}

Plan plan_request(const RuntimeSettings& configured, const Json& request) {
    ConvergeRequest wanted;
    wanted.settings = configured;
    wanted.is_asked = true;
    wanted.names = base::strings_or_empty(request, "names");
    wanted.no_restart = base::bool_or(request, "no-restart", false);
    const std::string asked = base::string_or(request, "request", "");
    Plan plan;
    if (asked == "restore") {
        wanted.goal = RuntimeGoal::Restored;
    } else if (asked != "configure") {
        plan.problems.push_back(
            {Errc::InvalidArgument, "unknown request '" + asked + "' for container runtimes", ""});
        return plan;
    }
    plan.kind = "runtime." + asked;
    core::Step step = runtime_step(wanted);
    plan.title = step.summary;
    plan.reasons.push_back("requested");
    plan.steps.push_back(std::move(step));
    return plan;
}

} // namespace

Result<core::Observation> RuntimeComponent::observe(const core::Settings& settings) {
    const ToolkitSettings toolkit = toolkit_settings(settings);
    const ToolkitPlace now = place_of(present_toolkit(root_, toolkit));
    const ToolkitChoice choice = wanted_toolkit(root_, toolkit);
    ToolkitPlace place = place_of(choice);
    place.otherwise = now.directory;
    const bool has_hosts = has_registry_hosts(root_);
    const bool will_have_hosts = will_have_hosts_ ? will_have_hosts_(settings) : has_hosts;
    const RuntimeSettings wanted = runtime_settings(settings, place, will_have_hosts);
    const auto record = read_runtime_record(root_);
    const auto places = known_places(root_);
    // `is_known` is false if the record contains only runtimes that a request named.
    const bool is_known = record && record->settings.is_object();
    Json document{{"configure", wanted.configure},
                  {"registry_hosts", will_have_hosts},
                  {"registry_hosts_now", has_hosts},
                  {"toolkit", to_json(place)},
                  {"toolkit_now", to_json(now)},
                  {"link_left", choice.path.empty() && !current_toolkit(root_).empty()},
                  {"known", is_known},
                  {"present", is_known || is_any_runtime_here(root_)},
                  {"recorded_settings", is_known ? record->settings : Json()},
                  {"places_changed", is_known && record->places != places},
                  {"changed", Json::array()},
                  {"runtimes", Json::array()}};
    const std::string spec_version = read_cdi_record(root_).value_or(CdiRecord()).version;
    for (const auto& [name, recorded] : record ? record->runtimes : decltype(record->runtimes)()) {
        if (is_chosen(wanted, name))
            for (const std::string& path : changed_inputs(root_, recorded))
                document["changed"].push_back(path);
        document["runtimes"].push_back(observe_runtime(root_, name, recorded, spec_version));
    }
    return document;
}

Plan RuntimeComponent::plan(const core::Desired& desired, const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Json&>(observation);
    // An apply of all components applies the toolkit and the images first, so the state after that counts.
    const RuntimeSettings settings = runtime_settings(
        desired.settings, place_from_json(base::member(observed, desired.alone ? "toolkit_now" : "toolkit")),
        base::bool_or(observed, desired.alone ? "registry_hosts_now" : "registry_hosts", false));
    if (!desired.request.empty())
        return plan_request(settings, base::member(desired.request, "runtime"));
    Plan plan;
    plan.kind = "runtime.converge";
    if (!settings.configure)
        return plan;
    if (!base::bool_or(observed, "known", false) && base::bool_or(observed, "present", false))
        plan.reasons.emplace_back("container runtimes have not been inspected yet");
    if (const Json& recorded = base::member(observed, "recorded_settings"); recorded.is_object())
        if (std::string why = what_changed(recorded, settings); !why.empty())
            plan.reasons.push_back(std::move(why));
    if (base::bool_or(observed, "places_changed", false))
        plan.reasons.emplace_back("container runtimes were installed or removed");
    for (const std::string& path : base::strings_or_empty(observed, "changed"))
        if (settings.repair)
            plan.reasons.push_back("'" + path + "' has changed");
    for (const Json& runtime : base::member(observed, "runtimes"))
        if (base::string_or(runtime, "state", "") == "problem" &&
            base::bool_or(runtime, "was_restarted", false))
            plan.reasons.push_back(base::string_or(runtime, "name", "") + " was restarted");
        else if (settings.restart && base::bool_or(runtime, "restart_wanted", false) &&
                 base::string_or(runtime, "restart_text", "").empty())
            plan.reasons.push_back(base::string_or(runtime, "name", "") +
                                   " runs with its previous configuration");
    if (plan.reasons.empty())
        return plan;
    core::Step step = runtime_step({RuntimeGoal::Configured, {}, settings, false});
    plan.title = step.summary;
    plan.steps.push_back(std::move(step));
    // Until this plan runs, the runtimes' configuration refers to the link, so the link is removed last. Only
    // an administrator may switch a toolkit off; an apply of all components is such a decision.
    if (!desired.alone && base::bool_or(observed, "link_left", false))
        plan.steps.push_back(
            toolkit_select_step(toolkit_settings(desired.settings), "", "remove the link to the toolkit"));
    return plan;
}

} // namespace gpuhost::runtime
