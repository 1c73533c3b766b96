// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/steps.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/cdi/validations.hpp"
#include "daemon/runtime/configure/undo.hpp"

namespace gpuhost::runtime {

using base::Json;
using base::Result;
using core::StepContext;

namespace {

ConvergeRequest request_of(const Json& args) {
    return {base::string_or(args, "goal", "") == "restored" ? RuntimeGoal::Restored : RuntimeGoal::Configured,
            base::strings_or_empty(args, "names"), runtime_settings_from_json(base::member(args, "settings")),
            base::bool_or(args, "asked", false), base::bool_or(args, "no-restart", false)};
}

std::string summary_of(const ConvergeRequest& request) {
    const std::string which =
        request.names.empty() ? std::string("container runtimes") : base::join(request.names, ", ");
    return request.goal == RuntimeGoal::Restored
               ? "remove gpuhost's changes from the configuration of " + which
               : "configure " + which + " for GPUs";
}

/// Finds unknown names, and obstacles for runtimes that a request names, before anything changes.
Result<std::vector<core::Problem>> preflight(StepContext& context, const Json& args) {
    const ConvergeRequest request = request_of(args);
    std::vector<core::Problem> problems;
    const auto record = read_runtime_record(context.root).value_or(RuntimeRecord());
    const auto targets = targets_of(context.root, request, record);
    if (!targets)
        return std::vector<core::Problem>{
            {targets.error().code, targets.error().message, targets.error().hint}};
    for (const RuntimeState& state : targets->here) {
        const std::string& name = state.instance.name;
        const auto known = record.runtimes.find(name);
        const RuntimePlan plan =
            plan_runtime(context.root, state, known == record.runtimes.end() ? nullptr : &known->second,
                         request.settings, request.goal);
        if (plan.problem && request.is_asked)
            problems.push_back({plan.problem->code, name + ": " + plan.problem->message, plan.problem->hint});
        else if (plan.problem)
            context.warn(name + ": " + plan.problem->message);
    }
    return problems;
}

} // namespace

core::StepKind runtime_step_kind() {
    return {.name = "runtime.configure",
            .sandbox = core::Sandbox::Runtimes,
            // Several runtimes may start slowly, also after their files are restored.
            .deadline = std::chrono::minutes(15),
            .has_preflight = true,
            .has_undo = true};
}

core::StepCode runtime_step_code() {
    core::StepCode code{.name = "runtime.configure", .preflight = preflight};
    code.apply = [](StepContext& context, const Json& args) -> Result<Json> {
        GPUHOST_TRY(done, converge_runtimes(context, request_of(args)));
        converge_toolkit_validation(context);
        return std::move(done);
    };
    code.undo = [](StepContext& context, const Json& args) -> Result<void> {
        const auto undo = RuntimeUndo::read(context);
        auto back = undo ? undo->put_all_back(request_of(args).permits_restart()) : base::fail(undo.error());
        converge_toolkit_validation(context);
        return back;
    };
    return code;
}

core::Step runtime_step(const ConvergeRequest& request) {
    return {"runtime.configure",
            summary_of(request),
            {{"goal", request.goal == RuntimeGoal::Restored ? "restored" : "configured"},
             {"names", request.names},
             {"settings", to_json(request.settings)},
             {"asked", request.is_asked},
             {"no-restart", request.no_restart}}};
}

} // namespace gpuhost::runtime
