// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/module/file.hpp"
#include "kmod/module/goal.hpp"
#include "kmod/module/graph.hpp"
#include "kmod/module/info.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/module/symbol_versions.hpp"
#include "kmod/select/driver_preflight.hpp"
#include "kmod/store/store.hpp"
#include "kmod/trust/module_trust.hpp"

#include <algorithm>

#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using core::Problem;
using core::StepContext;

constexpr std::size_t index_limit = 16U << 20;
constexpr std::string_view rebuild_hint =
    "Build or import modules for the running kernel: gpuhostctl driver build.";

/// The requirements of the running kernel for modules, read once for all modules.
struct KernelRules {
    std::string release;
    std::string vermagic; ///< vermagic of one of the kernel's own modules; empty: none could be read
    TrustRules trust;
    std::optional<SymbolVersions> symbols;
};

std::string vermagic_of(const base::Root& root, const std::string& kernel) {
    const std::string directory = "/lib/modules/" + kernel + "/";
    const std::string index = root.read(directory + "modules.dep", index_limit).value_or(std::string());
    for (const std::string& path : indexed_modules(index)) {
        // Only uncompressed files can be read.
        if (!base::starts_with(path, "kernel/") || !base::ends_with(path, ".ko"))
            continue;
        const auto fd = root.open_file(directory + path, O_RDONLY);
        const auto file = fd ? base::MappedFile::open(fd->get(), path) : base::fail(fd.error());
        const auto info = file ? parse_module_info(file->view(), path) : base::fail(file.error());
        if (info)
            return info->vermagic;
    }
    return {};
}

void check_vermagic(const GoalModule& module, const ModuleInfo& info, const KernelRules& rules,
                    std::vector<Problem>& problems) {
    if (info.kernel() != rules.release)
        problems.push_back({Errc::Unsupported,
                            "module '" + module.name + "' was built for kernel " +
                                std::string(info.kernel()) + ", the running kernel is " + rules.release,
                            std::string(rebuild_hint)});
    else if (!rules.vermagic.empty() && base::trim(info.vermagic) != base::trim(rules.vermagic))
        problems.push_back({Errc::Unsupported,
                            "module '" + module.name + "' was built with vermagic '" +
                                std::string(base::trim(info.vermagic)) + "', this kernel has '" +
                                std::string(base::trim(rules.vermagic)) + "'",
                            std::string(rebuild_hint)});
}

void check_module(const GoalModule& module, std::string_view image, const KernelRules& rules,
                  const std::function<void(const std::string&)>& warn, std::vector<Problem>& problems) {
    const auto info = parse_module_info(image, module.path);
    if (!info) {
        problems.push_back({info.error().code, info.error().message, "Import this version again."});
        return;
    }
    check_vermagic(module, *info, rules, problems);
    if (auto problem = signature_problem(module.name, image, rules.trust, warn))
        problems.push_back(*std::move(problem));
    if (!rules.symbols)
        return;
    const auto wanted = parse_symbol_versions(image, module.path);
    const auto differing = wanted ? differing_symbols(*rules.symbols, *wanted) : std::vector<std::string>{};
    if (!differing.empty())
        problems.push_back({Errc::Unsupported,
                            "module '" + module.name + "' needs other versions of " +
                                std::to_string(differing.size()) + " kernel symbols (" + differing.front() +
                                ", …)",
                            std::string(rebuild_hint)});
}

void check_goal(const StepContext& context, const ModuleGoal& goal, const KernelRules& rules,
                std::vector<Problem>& problems) {
    for (const GoalModule& module : goal.modules) {
        if (module.path.empty())
            continue; // a module of the distribution
        const auto fd = context.root.open_file(module.path, O_RDONLY);
        const auto file = fd ? base::MappedFile::open(fd->get(), module.path) : base::fail(fd.error());
        if (file)
            check_module(module, file->view(), rules, context.warn, problems);
        else
            problems.push_back({file.error().code, file.error().message, "Import this version again."});
    }
}

/// Adds a problem for each loaded module whose file is not found, because an undo could not load it again.
void check_way_back(const StepContext& context, const ModuleGoal& from, const std::string& kernel,
                    std::vector<Problem>& problems) {
    for (const GoalModule& module : from.modules) {
        if (module.optional)
            continue;
        if (!module.path.empty()) {
            if (!context.root.stat(module.path))
                problems.push_back(
                    {Errc::NotFound,
                     "'" + module.path + "' not found: it is loaded now, and an undo needs it",
                     "Import driver " + from.version + " again: gpuhostctl driver import FILE…."});
            continue;
        }
        LoadedModule loaded;
        loaded.name = module.name;
        loaded.srcversion = module.srcversion;
        if (!can_load_again(context.root, kernel, loaded))
            problems.push_back(
                {Errc::NotFound,
                 "the file of module '" + module.name + "' " + module.version +
                     " is not in /lib/modules: it is loaded now, and an undo needs it",
                 "Install it again, or unload it (rmmod " + module.name + ") to swap without undo."});
    }
}

/// Returns the driver's loaded modules. Waits first until none is being loaded, but at most `patience`. Just
/// after boot, udev may be loading the driver, which lasts long with eight GPUs.
std::vector<LoadedModule> wait_for_coming(const StepContext& context, std::chrono::milliseconds patience) {
    const std::uint64_t until = base::monotonic_us() + static_cast<std::uint64_t>(patience.count()) * 1000;
    for (;;) {
        std::vector<LoadedModule> modules = loaded_driver(context.root);
        const auto coming = std::find_if(modules.begin(), modules.end(),
                                         [](const LoadedModule& module) { return module.state == "coming"; });
        if (coming == modules.end() || base::monotonic_us() >= until)
            return modules;
        context.progress(-1, "waiting for " + coming->name + " to finish loading");
        ::usleep(50'000);
    }
}

const GoalModule* find(const ModuleGoal& goal, const std::string& name) {
    const auto found = std::find_if(goal.modules.begin(), goal.modules.end(),
                                    [&](const GoalModule& module) { return module.name == name; });
    return found == goal.modules.end() ? nullptr : &*found;
}

/// Adds a problem for each loaded module that cannot be unloaded: it is stuck in the kernel, or is nouveau in
/// use.
void check_loaded(const std::vector<LoadedModule>& loaded, std::vector<Problem>& problems) {
    for (const LoadedModule& module : loaded) {
        if (module.state != "live")
            problems.push_back({Errc::RebootRequired,
                                "module '" + module.name + "' is stuck in the kernel (" + module.state + ")",
                                "Reboot the host."});
        if (module.name == "nouveau" && module.refcnt > static_cast<int>(module.holders.size()))
            problems.push_back({Errc::InUse, "nouveau drives a GPU and is in use, possibly by the console",
                                "Reboot with modprobe.blacklist=nouveau on the kernel's command line."});
    }
}

/// Adds a problem if the kernel cannot load or unload modules at all, but must for this swap. An
/// administrator may have set kernel.modules_disabled. A kernel without CONFIG_MODULE_UNLOAD reports no
/// reference counts (-1).
void check_kernel_moves(const base::Root& root, const std::vector<LoadedModule>& loaded, const ModuleGoal& to,
                        std::vector<Problem>& problems) {
    const std::vector<LoadedModule> going = to_unload(loaded, to);
    if (root.read_line("/proc/sys/kernel/modules_disabled").value_or("0") == "1" &&
        (!going.empty() || lacks(loaded, to)))
        problems.push_back(
            {Errc::RebootRequired,
             "this kernel cannot load or unload modules until the next boot: kernel.modules_disabled=1",
             "Find where it is set (grep -r modules_disabled /etc), set it after "
             "gpuhost-ready.service, and reboot."});
    if (!going.empty() && std::all_of(loaded.begin(), loaded.end(), [](const LoadedModule& module) {
            return module.state == "live" && module.refcnt < 0;
        }))
        problems.push_back({Errc::Unsupported,
                            "this kernel cannot unload '" + going.front().name +
                                "': it was built without CONFIG_MODULE_UNLOAD",
                            "Boot another kernel, and select the driver for this one from there: "
                            "gpuhostctl driver set-default."});
}

/// Adds a problem for each loaded module that uses the driver and is not part of it. A swap could unload it,
/// but perhaps not load it again. In the goal `to`, such a module has no path in a set. If it was loaded
/// after the plan was made, it is in neither goal.
void check_others(const base::Root& root, const std::vector<LoadedModule>& loaded, const ModuleGoal& from,
                  const ModuleGoal& to, std::vector<Problem>& problems) {
    const Store store = read_store(root).value_or(Store());
    for (const LoadedModule& module : loaded) {
        const GoalModule* const wanted = find(to, module.name);
        const bool ours = wanted != nullptr
                              ? !wanted->path.empty()
                              : find(from, module.name) != nullptr || !is_others(store, module.name);
        if (!ours)
            problems.push_back({Errc::InUse,
                                "module '" + module.name + "' uses the driver and is not part of it",
                                "Unload it (rmmod " + module.name + "), or swap with --holders=terminate."});
    }
}

} // namespace

PreflightResult converge_preflight(StepContext& context, const base::Json& args) {
    const ModuleGoal from = goal_from_json(base::member(args, "from"));
    const ModuleGoal to = goal_from_json(base::member(args, "to"));
    std::vector<Problem> problems;
    KernelRules rules;
    rules.release = base::string_or(args, "kernel", "");
    rules.vermagic = vermagic_of(context.root, rules.release);
    rules.trust = trust_rules(context.root, rules.release);
    const base::Json& settings = base::member(context.settings, "Driver");
    const std::string certificate = base::string_or(settings, "SigningCertificate", {});
    if (const auto added = add_certificate(rules.trust, context.root, certificate); !added)
        context.warn("SigningCertificate=: " + added.error().message);
    rules.symbols = kernel_symbol_versions(context.root, rules.release);
    if (!rules.symbols && !to.modules.empty())
        context.note("symbol versions are not checked: Module.symvers of " + rules.release + " not found");
    check_goal(context, to, rules, problems);
    check_way_back(context, from, rules.release, problems);
    const auto patience = usec_or(args, "module_deadline_usec", std::chrono::minutes(2));
    const std::vector<LoadedModule> loaded = wait_for_coming(context, patience);
    if (!base::bool_or(args, "reloads", false)) // the step before, which unloads, checks the same
        check_loaded(loaded, problems);
    check_kernel_moves(context.root, loaded, to, problems);
    if (base::string_or(args, "policy", "refuse") != "terminate")
        check_others(context.root, loaded, from, to, problems);
    return problems;
}

} // namespace gpuhost::kmod
