// SPDX-License-Identifier: Apache-2.0
// driver.devices makes the nodes of whatever driver is loaded: args {"when": "forward"|"back"}. A step is
// undone before the steps that it came after, so nodes for the driver gone back to are the undo of a step
// that stands before the modules change ("back"), and nodes for the new one the apply of a step behind it
// ("forward").
//
// driver.validate asks whether the driver works: args {"level": "kernel"|"nvml", "goal": goal, "userland":
// directory}.
#include "kmod/converge.hpp"
#include "kmod/devices.hpp"
#include "kmod/kernel_state.hpp"
#include "kmod/nvml.hpp"
#include "kmod/step_kind.hpp"

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Result;
using core::Problem;
using core::StepContext;

bool is_forward(const base::Json& args) {
    return base::string_or(args, "when", "forward") == "forward";
}

Result<void> check_devices(const base::Root& root) {
    const std::vector<DeviceNode> missing = missing_devices(root);
    if (missing.empty())
        return {};
    return base::fail(Errc::Failed, "device node '" + missing.front().path +
                                        "' or its link in /dev/char is missing or wrong");
}

std::string nvml_library(const base::Json& args) {
    return base::string_or(args, "userland", "") + "/lib/libnvidia-ml.so.1";
}

bool wants_nvml(const base::Json& args) {
    return base::string_or(args, "level", "kernel") == "nvml";
}

PreflightResult validate_preflight(StepContext& context, const base::Json& args) {
    std::vector<Problem> problems;
    if (wants_nvml(args) &&
        (base::string_or(args, "userland", "").empty() || !context.root.exists(nvml_library(args))))
        problems.push_back({Errc::NotFound, "Validation=nvml, but this driver came without NVML",
                            "import libnvidia-ml1 of the same version, or set Validation=kernel"});
    return problems;
}

Result<base::Json> validate(StepContext& context, const base::Json& args) {
    const Goal goal = goal_from_json(base::member(args, "goal"));
    GPUHOST_CHECK(check_kernel(context.root, goal, true));
    GPUHOST_CHECK(check_devices(context.root));
    if (!wants_nvml(args))
        return base::Json{{"level", "kernel"}};
    context.progress(-1, "asking NVML");
    GPUHOST_TRY(report, ask_nvml(context.root.host_path(nvml_library(args))));
    const std::size_t expected = gpus_to_drive(nvidia_gpus(context.root)).size();
    if (report.driver_version != goal.version)
        return base::fail(Errc::Failed,
                          "NVML sees driver " + report.driver_version + ", not " + goal.version);
    if (report.devices != expected)
        return base::fail(Errc::Failed,
                          "NVML sees " + std::to_string(report.devices) + " of " + std::to_string(expected) +
                              " GPUs",
                          "the kernel's log says why: journalctl -k -g NVRM");
    return base::Json{{"level", "nvml"}, {"devices", report.devices}};
}

} // namespace

core::StepKind driver_devices_kind() {
    core::StepKind kind;
    kind.name = "driver.devices";
    kind.sandbox = core::Sandbox::Devices;
    kind.apply = [](StepContext& context, const base::Json& args) -> Result<base::Json> {
        if (is_forward(args))
            GPUHOST_CHECK(make_devices(context.root));
        return base::Json::object();
    };
    kind.verify = [](StepContext& context, const base::Json& args) {
        return is_forward(args) ? check_devices(context.root) : Result<void>{};
    };
    kind.undo = [](StepContext& context, const base::Json& args) {
        return is_forward(args) ? Result<void>{} : make_devices(context.root);
    };
    return kind;
}

core::StepKind driver_validate_kind() {
    core::StepKind kind;
    kind.name = "driver.validate";
    kind.sandbox = core::Sandbox::Devices;
    kind.deadline = std::chrono::minutes(5); // NVML starts eight GPUs one after the other
    kind.preflight = validate_preflight;
    kind.apply = validate;
    // it is itself a look
    return kind;
}

} // namespace gpuhost::kmod
