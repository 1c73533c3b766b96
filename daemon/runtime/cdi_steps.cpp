// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi_steps.hpp"

#include "daemon/runtime/cdi_publisher.hpp"

namespace gpuhost::runtime {
namespace {

using base::Json;
using base::Result;
using core::StepContext;

CdiRecord publish(StepContext& context, const Json& args) {
    return publish_specs(context, base::string_or(args, "directory", ""),
                         base::bool_or(args, "groups", true));
}

Result<Json> withdraw(StepContext& context, const Json& /*args*/) {
    GPUHOST_TRY(files, withdraw_specs(context.root));
    return Json{{"files", files}};
}

core::StepKind new_kind(const char* name) {
    core::StepKind kind;
    kind.name = name;
    kind.sandbox = core::Sandbox::Devices;
    kind.deadline = std::chrono::minutes(5); // GPUs that are woken start one after the other
    return kind;
}

core::StepKind publish_kind() {
    core::StepKind kind = new_kind("cdi.publish");
    kind.apply = [](StepContext& context, const Json& args) -> Result<Json> {
        const CdiRecord record = publish(context, args);
        return Json{{"files", record.files.size()}, {"devices", record.devices}};
    };
    kind.undo = [](StepContext& context, const Json& args) -> Result<void> {
        if (base::bool_or(args, "stays", false))
            return {};
        GPUHOST_CHECK(withdraw(context, args));
        return {};
    };
    return kind;
}

core::StepKind withdraw_kind() {
    core::StepKind kind = new_kind("cdi.withdraw");
    kind.apply = withdraw;
    kind.undo = [](StepContext& context, const Json& args) -> Result<void> {
        if (base::bool_or(args, "enable", true))
            (void)publish(context, args);
        return {};
    };
    return kind;
}

Json args_of(const CdiSettings& settings) {
    return {{"enable", settings.enable}, {"directory", settings.directory}, {"groups", settings.groups}};
}

core::Step publish_step(const CdiSettings& settings, bool stays) {
    core::Step step{"cdi.publish", "tell containers of the driver", args_of(settings)};
    step.args["stays"] = stays;
    return step;
}

} // namespace

void register_cdi_steps(core::StepKinds& kinds) {
    kinds.add(publish_kind());
    kinds.add(withdraw_kind());
}

core::Step cdi_publish_step(const CdiSettings& settings) {
    return publish_step(settings, true);
}

core::Step cdi_withdraw_step(const CdiSettings& settings) {
    return {"cdi.withdraw", "give no container the driver", args_of(settings)};
}

core::StepsAround cdi_steps_around(const core::Settings& settings) {
    const CdiSettings cdi = cdi_settings(settings);
    core::StepsAround around{{cdi_withdraw_step(cdi)}, {}};
    if (cdi.enable)
        around.after.push_back(publish_step(cdi, false));
    return around;
}

} // namespace gpuhost::runtime
