// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "kmod/driver_preflight.hpp"
#include "kmod/goal.hpp"
#include "kmod/kernel_state.hpp"
#include "kmod/module_info.hpp"
#include "kmod/symbol_versions.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using core::Problem;
using core::StepContext;

constexpr std::string_view rebuild_hint =
    "build or bring in modules for the running kernel: gpuhostctl driver build";

/// What the modules will meet in this kernel; looked up once for all of them.
struct KernelRules {
    std::string release;
    std::string enforcement;
    std::optional<SymbolVersions> symbols;
};

void check_module(const GoalModule& module, std::string_view image, const KernelRules& rules,
                  std::vector<Problem>& problems) {
    const auto info = parse_module_info(image, module.path);
    if (!info) {
        problems.push_back({info.error().code, info.error().message, "import this version again"});
        return;
    }
    if (info->kernel() != rules.release)
        problems.push_back({Errc::Unsupported,
                            "module '" + module.name + "' was built for kernel " +
                                std::string(info->kernel()) + ", the running one is " + rules.release,
                            std::string(rebuild_hint)});
    if (!rules.enforcement.empty() && !info->signature)
        problems.push_back(
            {Errc::AccessDenied,
             "module '" + module.name +
                 "' is not signed, and the kernel takes signed ones only: " + rules.enforcement,
             "bring in a signed set, with its key enrolled (mokutil --import)"});
    if (!rules.symbols)
        return;
    const auto wanted = parse_symbol_versions(image, module.path);
    const auto differing = wanted ? differing_symbols(*rules.symbols, *wanted) : std::vector<std::string>{};
    if (!differing.empty())
        problems.push_back({Errc::Unsupported,
                            "module '" + module.name + "' wants other versions of " +
                                std::to_string(differing.size()) + " kernel symbols (" + differing.front() +
                                ", …)",
                            std::string(rebuild_hint)});
}

void check_goal(const StepContext& context, const Goal& goal, const KernelRules& rules,
                std::vector<Problem>& problems) {
    for (const GoalModule& module : goal.modules) {
        if (module.path.empty())
            continue; // the distribution's own
        const auto fd = context.root.open_file(module.path, O_RDONLY);
        const auto file = fd ? MappedFile::open(fd->get(), module.path) : base::fail(fd.error());
        if (file)
            check_module(module, file->view(), rules, problems);
        else
            problems.push_back({file.error().code, file.error().message, "import this version again"});
    }
}

/// Modules that a swap could take out but not bring back, and such that no swap gets rid of.
void check_loaded(const StepContext& context, const Goal& from, bool terminate,
                  std::vector<Problem>& problems) {
    for (const LoadedModule& module : loaded_driver(context.root)) {
        if (module.state != "live")
            problems.push_back({Errc::RebootRequired,
                                "module '" + module.name + "' is stuck in the kernel (" + module.state + ")",
                                "reboot the host"});
        if (module.name == "nouveau" && module.refcnt > static_cast<int>(module.holders.size()))
            problems.push_back({Errc::InUse, "nouveau drives a GPU and is in use, by the console perhaps",
                                "reboot with modprobe.blacklist=nouveau on the kernel's command line"});
        const auto known = std::find_if(from.modules.begin(), from.modules.end(),
                                        [&](const GoalModule& wanted) { return wanted.name == module.name; });
        const bool foreign = !base::starts_with(module.name, "nvidia") && module.name != "nouveau";
        if (!terminate && foreign && (known == from.modules.end() || known->path.empty()))
            problems.push_back({Errc::InUse,
                                "module '" + module.name + "' uses the driver and is not part of it",
                                "unload it (rmmod " + module.name + "), or swap with --holders=terminate"});
    }
}

} // namespace

Problems converge_preflight(StepContext& context, const base::Json& args) {
    std::vector<Problem> problems;
    KernelRules rules;
    rules.release = base::string_or(args, "kernel", "");
    rules.enforcement = signature_enforcement(context.root);
    rules.symbols = kernel_symbol_versions(context.root, rules.release);
    if (!rules.symbols)
        context.progress(-1, "symbol versions are not checked: no Module.symvers of " + rules.release);
    check_goal(context, goal_from_json(base::member(args, "to")), rules, problems);
    check_loaded(context, goal_from_json(base::member(args, "from")),
                 base::string_or(args, "policy", "refuse") == "terminate", problems);
    return problems;
}

} // namespace gpuhost::kmod
