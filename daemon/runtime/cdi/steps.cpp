// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/steps.hpp"

#include "daemon/runtime/cdi/publisher.hpp"
#include "daemon/runtime/cdi/state.hpp"
#include "daemon/runtime/cdi/validations.hpp"

namespace gpuhost::runtime {
namespace {

using base::Json;
using base::Result;
using core::StepContext;

CdiSettings settings_of(const Json& args) {
    CdiSettings settings;
    settings.enable = base::bool_or(args, "enable", true);
    settings.directory = base::string_or(args, "directory", "");
    settings.groups = base::string_or(args, "groups", settings.groups);
    return settings;
}

CdiRecord publish(StepContext& context, const Json& args) {
    return publish_specs(context, settings_of(args));
}

Result<Json> withdraw(StepContext& context, const Json& /*args*/) {
    GPUHOST_CHECK(withdraw_validations(context));
    GPUHOST_TRY(files, withdraw_specs(context.root));
    return Json{{"files", files}};
}

/// Observes the host again: an earlier step may have loaded a driver after the plan was made.
Result<Json> converge_specs(StepContext& context, const Json& args) {
    const CdiSettings settings = settings_of(args);
    const Json observed = observe_cdi(context.root);
    if (!settings.enable || observed_driver(observed).empty()) {
        GPUHOST_TRY(files, withdraw_specs(context.root));
        return Json{{"files", files}};
    }
    const auto told = cdi_record_from_json(base::member(observed, "record"));
    const bool is_told = told && cdi_reasons(settings, observed).empty();
    const CdiRecord record = is_told ? *told : publish(context, args);
    return Json{{"files", record.files.size()}, {"devices", record.devices}};
}

Result<Json> converge(StepContext& context, const Json& args) {
    GPUHOST_TRY(told, converge_specs(context, args));
    converge_validations(context);
    return std::move(told);
}

core::StepCode publish_code() {
    core::StepCode code{.name = "cdi.publish"};
    code.apply = converge;
    code.undo = [](StepContext& context, const Json& args) -> Result<void> {
        if (base::bool_or(args, "stays", false))
            return {};
        GPUHOST_CHECK(withdraw(context, args));
        return {};
    };
    return code;
}

core::StepCode withdraw_code() {
    core::StepCode code{.name = "cdi.withdraw"};
    code.apply = withdraw;
    code.undo = [](StepContext& context, const Json& args) -> Result<void> {
        if (base::bool_or(args, "enable", true))
            (void)publish(context, args);
        converge_validations(context);
        return {};
    };
    return code;
}

Json args_of(const CdiSettings& settings) {
    return {{"enable", settings.enable}, {"directory", settings.directory}, {"groups", settings.groups}};
}

core::Step publish_step(const CdiSettings& settings, bool stays, std::string summary = {}) {
    if (summary.empty())
        summary = "write the CDI specifications";
    core::Step step{"cdi.publish", std::move(summary), args_of(settings)};
    step.args["stays"] = stays;
    return step;
}

} // namespace

std::vector<core::StepKind> cdi_step_kinds() {
    const auto deadline = std::chrono::minutes(5); // GPUs are initialized one after the other
    return {
        {.name = "cdi.publish", .sandbox = core::Sandbox::Devices, .deadline = deadline, .has_undo = true},
        {.name = "cdi.withdraw", .sandbox = core::Sandbox::Devices, .deadline = deadline, .has_undo = true}};
}

std::vector<core::StepCode> cdi_step_code() {
    return {publish_code(), withdraw_code()};
}

core::Step cdi_publish_step(const CdiSettings& settings, std::string summary) {
    return publish_step(settings, true, std::move(summary));
}

core::StepsAround cdi_steps_around(const core::Settings& settings) {
    const CdiSettings cdi = cdi_settings(settings);
    core::StepsAround around{{}, {{"cdi.withdraw", "remove the CDI specifications", args_of(cdi)}}, {}, {}};
    if (cdi.enable || validation_settings(settings.to_json()).keep)
        around.after.push_back(publish_step(cdi, false));
    return around;
}

} // namespace gpuhost::runtime
