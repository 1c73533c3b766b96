// SPDX-License-Identifier: Apache-2.0
// Step modules.converge: apply unloads and loads modules until the kernel has those of "to", undo those of
// "from" (converge.hpp).
// args: {"kernel", "from": goal, "to": goal, "gpus": PCI addresses that the driver must serve at the end,
//        "selects": whether a later step of the plan makes the kernel boot "to",
//        "reloads": whether the step before has unloaded the modules of the driver that the kernel boots,
//        "console": whether the text console was on the driver when the plan was made,
//        "policy", "module_deadline_usec", "grace_usec"}.
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/boot/selection_files.hpp"
#include "kmod/holder/holders.hpp"
#include "kmod/load/autoload_block.hpp"
#include "kmod/load/converge.hpp"
#include "kmod/module/graph.hpp"
#include "kmod/module/info.hpp"
#include "kmod/select/driver_preflight.hpp"
#include "kmod/step_code.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::Result;
using core::StepContext;

ModuleGoal goal_of(const base::Json& args, std::string_view key) {
    return goal_from_json(base::member(args, key));
}

/// Brings the kernel to the modules of args[goal]. args[other] has the modules from before the change. `goal`
/// is "to" in apply and "from" in undo; `other` is the opposite.
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

/// Warns of parameters in the settings that a module does not have. The kernel loads the module nevertheless,
/// and only logs such parameters.
void warn_of_unknown_parameters(const StepContext& context, const ModuleGoal& goal) {
    for (const GoalModule& module : goal.modules) {
        if (module.path.empty() || module.parameters.empty())
            continue;
        const auto fd = context.root.open_file(module.path, O_RDONLY);
        const auto file = fd ? base::MappedFile::open(fd->get(), module.path) : base::fail(fd.error());
        const auto info = file ? parse_module_info(file->view(), module.path) : base::fail(file.error());
        if (!info)
            continue; // ignored here: loading the module has reported the error
        for (const std::string& name : info->unknown_parameters(module.parameters))
            context.warn("module '" + module.name + "' " + module.version + " has no parameter '" + name +
                         "', which ModuleParameters= sets; the kernel ignores it");
    }
}

Result<base::Json> apply(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(report, converge_to(context, args, "to", "from"));
    std::for_each(report.notes.begin(), report.notes.end(), context.warn);
    if (!goal_of(args, "to").modules.empty())
        for (const std::string& unserved : describe_unserved_gpus(context.root))
            context.warn(unserved);
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

/// Called by the undo. Fails if the undo of driver.select has failed, so that the host's files still select
/// the driver "to". The modules of "to" then stay loaded: the host's libraries are those of "to", and modules
/// and files must have one version.
Result<void> expect_files_of_from(const StepContext& context, const base::Json& args) {
    const std::string to = directory_of(goal_of(args, "to"));
    if (!base::bool_or(args, "selects", false) || to.empty() ||
        boot_modules(context.root, base::string_or(args, "kernel", "")) != to)
        return {};
    return base::fail(base::Errc::Failed, "the files of the host still select driver " +
                                              goal_of(args, "to").version + ", so its modules stay loaded");
}

/// Returns true if the host was booted since a reload began: until then a file in /run blocks automatic
/// loading. The modules that the host booted with may be in use, and the kernel can't tell them from those to
/// restore.
bool was_booted(const base::Root& root, const base::Json& args) {
    return base::bool_or(args, "reloads", false) && !autoload_blocked(root);
}

/// Brings the kernel back to the modules of "from". Processes may already use the new driver. With holder
/// policy "terminate", terminates them, as the swap did. Otherwise repeats unloads of modules in use for up
/// to grace_usec. If a process cannot be terminated, the unload is attempted nevertheless: it fails if the
/// process holds the module.
Result<void> undo(StepContext& context, const base::Json& args) {
    if (was_booted(context.root, args))
        return {};
    GPUHOST_CHECK(expect_files_of_from(context, args));
    Result<void> ended;
    if (base::string_or(args, "policy", "refuse") == "terminate" &&
        !to_unload(loaded_driver(context.root), goal_of(args, "from")).empty()) {
        const std::vector<Holder> holders = find_holders(context.root);
        ended = terminate(context.root, holders, usec_or(args, "grace_usec", std::chrono::seconds(30)));
        if (ended)
            for (const HolderGroup& group : group_by_origin(holders))
                context.warn("terminated " + describe_group(group));
    }
    const auto report = converge_to(context, args, "from", "to");
    if (report) {
        std::for_each(report->notes.begin(), report->notes.end(), context.warn);
        return {};
    }
    return base::fail(ended ? report.error() : report.error().context(ended.error().message));
}

} // namespace

core::StepCode modules_converge_code() {
    core::StepCode code;
    code.name = "modules.converge";
    code.preflight = converge_preflight;
    code.apply = apply;
    code.verify = [](StepContext& context, const base::Json& args) -> Result<void> {
        const ModuleGoal goal = goal_of(args, "to");
        GPUHOST_CHECK(check_kernel(context.root, goal));
        return check_gpus(context.root, goal, base::strings_or_empty(args, "gpus"));
    };
    code.undo = undo;
    return code;
}

} // namespace gpuhost::kmod
