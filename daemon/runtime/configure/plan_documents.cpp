// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/check.hpp"
#include "daemon/runtime/configure/plan.hpp"
#include "daemon/runtime/configure/restart.hpp"
#include "daemon/runtime/inspect/containerd_registries.hpp"
#include "daemon/runtime/inspect/find.hpp"
#include "daemon/runtime/toolkit/choice.hpp"

#include <unistd.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;

namespace {

Json document_of(const RuntimePlan& plan) {
    Json files = Json::array();
    for (const FileChange& file : plan.change.files)
        files.push_back({{"path", file.path},
                         {"action", file.after ? "write" : "remove"},
                         {"before", to_json(file.before)},
                         {"after", to_json(file.after)}});
    return {{"name", plan.state.instance.name},
            {"kind", name_of(plan.state.instance.kind)},
            {"outcome", name_of(plan.outcome)},
            {"text", plan.text},
            {"reasons", plan.change.reasons},
            {"files", std::move(files)},
            {"restart", plan.restart == Restart::Now      ? "now"
                        : plan.restart == Restart::Wanted ? "wanted"
                                                          : "none"},
            {"restart_text", plan.restart_text},
            {"problem", plan.problem ? Json{{"code", base::info(plan.problem->code).name},
                                            {"message", plan.problem->message},
                                            {"hint", plan.problem->hint}}
                                     : Json()}};
}

/// Fails with AccessDenied if the caller is not root: only root may read the record and all files and
/// processes of the runtimes.
Result<void> need_root() {
    if (::geteuid() == 0)
        return {};
    return base::fail(Errc::AccessDenied, "only root may read all of the runtimes' configuration",
                      "Run the command as root.");
}

struct Known {
    RuntimeSettings settings;
    RuntimeRecord record;
    std::vector<RuntimeState> states;

    [[nodiscard]] RuntimePlan plan(const Root& root, const RuntimeState& state) const {
        const auto known = record.runtimes.find(state.instance.name);
        return plan_runtime(root, state, known == record.runtimes.end() ? nullptr : &known->second, settings,
                            RuntimeGoal::Configured);
    }
};

Result<Known> look(const Root& root, const core::Settings& settings, const std::vector<std::string>& names) {
    if (root.is_host())
        GPUHOST_CHECK(need_root());
    Known known{runtime_settings(settings, place_of(present_toolkit(root, toolkit_settings(settings))),
                                 has_registry_hosts(root)),
                read_runtime_record(root).value_or(RuntimeRecord()),
                {}};
    GPUHOST_TRY(states, read_chosen_runtimes(root, find_runtimes(root), known.settings.runtimes, names));
    known.states = std::move(states);
    return known;
}

Json check(const std::string& name, const Result<void>& result, const std::string& good) {
    return {{"name", name}, {"ok", result.has_value()}, {"text", result ? good : result.error().message}};
}

Result<void> matches_desired(const RuntimePlan& plan) {
    if (plan.outcome == PlanOutcome::Nothing)
        return {};
    if (plan.outcome == PlanOutcome::Change && plan.change.files.empty())
        return {}; // only the restart is missing
    return base::fail(Errc::Refused, plan.text);
}

Result<void> has_read_it(const RuntimePlan& plan) {
    if (plan.restart == Restart::None)
        return {};
    return base::fail(Errc::Refused, "it runs with its previous configuration");
}

Json verify(const Root& root, const RuntimePlan& plan) {
    const RuntimeInstance& instance = plan.state.instance;
    Json checks = Json::array();
    checks.push_back(check("configuration", matches_desired(plan), plan.text));
    if (!instance.executable.empty() && root.is_host() && instance.kind != RuntimeKind::Podman)
        checks.push_back(check("loads", check_live(root, plan.state), "its own program loads its files"));
    if (instance.pid != 0) {
        checks.push_back(check("process", has_read_it(plan), "it has read its files"));
        checks.push_back(check("answers", ask_runtime(root, plan.state), "it responds"));
    }
    bool ok = true;
    for (const Json& one : checks)
        ok = ok && base::bool_or(one, "ok", false);
    return {{"name", instance.name}, {"ok", ok}, {"checks", std::move(checks)}};
}

} // namespace

Result<Json> plan_runtimes(const Root& root, const core::Settings& settings,
                           const std::vector<std::string>& names, bool no_restart) {
    GPUHOST_TRY(known, look(root, settings, names));
    Json documents = Json::array();
    for (const RuntimeState& state : known.states)
        known.record.runtimes[state.instance.name].is_restart_theirs = no_restart;
    for (const RuntimeState& state : known.states)
        documents.push_back(document_of(known.plan(root, state)));
    return Json{{"runtimes", std::move(documents)}};
}

Result<Json> verify_runtimes(const Root& root, const core::Settings& settings,
                             const std::vector<std::string>& names) {
    GPUHOST_TRY(known, look(root, settings, names));
    Json documents = Json::array();
    for (const RuntimeState& state : known.states)
        documents.push_back(verify(root, known.plan(root, state)));
    return Json{{"runtimes", std::move(documents)}};
}

} // namespace gpuhost::runtime
