// SPDX-License-Identifier: Apache-2.0
// modules.converge: apply brings the kernel to "to", undo to "from".
// args: {"kernel", "from": goal, "to": goal, "gpus": those that must be served at the end,
//        "selects": a later step of the plan makes the kernel boot "to",
//        "console": the text console was on the driver,
//        "policy", "module_deadline_usec", "grace_usec"}.
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/boot/selection_files.hpp"
#include "kmod/holder/holders.hpp"
#include "kmod/load/converge.hpp"
#include "kmod/module/graph.hpp"
#include "kmod/module/info.hpp"
#include "kmod/select/driver_preflight.hpp"
#include "kmod/step_kind.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::Result;
using core::StepContext;

ModuleGoal goal_of(const base::Json& args, std::string_view key) {
    return goal_from_json(base::member(args, key));
}

Result<ConvergeReport> converge_to(StepContext& context, const base::Json& args, std::string_view goal,
                                   std::string_view other) {
    const auto loader = make_module_loader(context.root);
    ConvergeOptions options;
    options.kernel = base::string_or(args, "kernel", "");
    options.before = goal_of(args, other);
    options.module_deadline = usec_or(args, "module_deadline_usec", options.module_deadline);
    options.console = base::bool_or(args, "console", false);
    if (goal == "to")
        options.gpus = base::strings_or_empty(args, "gpus");
    else
        options.in_use_patience =
            std::min(usec_or(args, "grace_usec", options.in_use_patience), options.module_deadline / 2);
    options.progress = context.progress;
    return converge(context.root, *loader, goal_of(args, goal), options);
}

/// Warns of parameters that a module does not have. They do not prevent loading, and the kernel only mentions
/// them in its log.
void warn_of_unknown_parameters(const StepContext& context, const ModuleGoal& goal) {
    for (const GoalModule& module : goal.modules) {
        if (module.path.empty() || module.parameters.empty())
            continue;
        const auto fd = context.root.open_file(module.path, O_RDONLY);
        const auto file = fd ? base::MappedFile::open(fd->get(), module.path) : base::fail(fd.error());
        const auto info = file ? parse_module_info(file->view(), module.path) : base::fail(file.error());
        if (!info)
            continue; // preflight could read it; loading reports the error
        for (const std::string& name : info->unknown_parameters(module.parameters))
            context.warn("module '" + module.name + "' " + module.version + " has no parameter '" + name +
                         "', which ModuleParameters= sets; the kernel ignores it");
    }
}

Result<base::Json> apply(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(report, converge_to(context, args, "to", "from"));
    std::for_each(report.notes.begin(), report.notes.end(), context.warn);
    const std::vector<std::string> unserved = describe_unserved_gpus(context.root);
    std::for_each(unserved.begin(), unserved.end(), context.warn);
    warn_of_unknown_parameters(context, goal_of(args, "to"));
    return base::Json{{"unloaded", report.unloaded},
                      {"loaded", report.loaded},
                      {"first_unload_us", report.first_unload_us},
                      {"validated_us", report.validated_us}};
}

std::string directory_of(const ModuleGoal& goal) {
    const auto module = std::find_if(goal.modules.begin(), goal.modules.end(),
                                     [](const GoalModule& each) { return !each.path.empty(); });
    return module == goal.modules.end() ? std::string() : module->path.substr(0, module->path.rfind('/'));
}

/// Fails if the files of the host still select "to", because the undo of driver.select failed. The host then
/// boots "to" and finds its libraries, so its modules stay loaded: the whole host keeps one version.
Result<void> expect_files_of_from(const StepContext& context, const base::Json& args) {
    const std::string to = directory_of(goal_of(args, "to"));
    if (!base::bool_or(args, "selects", false) || to.empty() ||
        boot_modules(context.root, base::string_or(args, "kernel", "")) != to)
        return {};
    return base::fail(base::Errc::Failed, "the files of the host still select driver " +
                                              goal_of(args, "to").version + ", so its modules stay loaded");
}

/// Brings the kernel back to "from". Processes may already use the new driver, if it was loaded. If the
/// policy allowed the swap to terminate processes, the undo does so too; otherwise it waits for them for the
/// same grace time. If a process does not end, the unload is tried all the same: only the kernel can tell
/// whether the process blocks it.
Result<void> undo(StepContext& context, const base::Json& args) {
    GPUHOST_CHECK(expect_files_of_from(context, args));
    Result<void> ended;
    if (base::string_or(args, "policy", "refuse") == "terminate" &&
        !to_unload(loaded_driver(context.root), goal_of(args, "from")).empty())
        ended = terminate(context.root, find_holders(context.root),
                          usec_or(args, "grace_usec", std::chrono::seconds(30)));
    const auto report = converge_to(context, args, "from", "to");
    if (report) {
        std::for_each(report->notes.begin(), report->notes.end(), context.warn);
        return {};
    }
    return base::fail(ended ? report.error() : report.error().context(ended.error().message));
}

} // namespace

core::StepKind modules_converge_kind() {
    core::StepKind kind;
    kind.name = "modules.converge";
    kind.sandbox = core::Sandbox::Modules;
    kind.ends_with_boot = true;
    kind.changes_kernel = true;
    kind.deadline = std::chrono::hours(1); // each module has its own, shorter deadline
    kind.preflight = converge_preflight;
    kind.apply = apply;
    kind.verify = [](StepContext& context, const base::Json& args) -> Result<void> {
        const ModuleGoal goal = goal_of(args, "to");
        GPUHOST_CHECK(check_kernel(context.root, goal));
        return check_gpus(context.root, goal, base::strings_or_empty(args, "gpus"));
    };
    kind.undo = undo;
    return kind;
}

} // namespace gpuhost::kmod
