// SPDX-License-Identifier: Apache-2.0
#include "kmod/load/converge.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/boot/modprobe_options.hpp"
#include "kmod/holder/holders.hpp"
#include "kmod/load/console.hpp"
#include "kmod/load/module_lock.hpp"
#include "kmod/load/module_ops.hpp"
#include "kmod/module/file.hpp"
#include "kmod/module/graph.hpp"
#include "kmod/module/kernel_error.hpp"

#include <algorithm>
#include <map>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Result;

/// Returns the driver's loaded modules. Waits first until none of them is being loaded or unloaded by another
/// process. Fails with RebootRequired if that lasts longer than `patience`.
Result<std::vector<LoadedModule>> stable_modules(const base::Root& root, std::chrono::milliseconds patience) {
    const std::uint64_t until = base::monotonic_us() + static_cast<std::uint64_t>(patience.count()) * 1000;
    for (;;) {
        std::vector<LoadedModule> modules = loaded_driver(root);
        const auto moving = std::find_if(modules.begin(), modules.end(),
                                         [](const LoadedModule& module) { return module.state != "live"; });
        if (moving == modules.end())
            return modules;
        if (base::monotonic_us() >= until)
            return base::fail(
                hung_error((moving->state == "going" ? "unloading " : "loading ") + moving->name));
        ::usleep(20'000);
    }
}

using ModuleOptions = std::map<std::string, std::string>;

/// Returns the parameters with which to load a module: its options in modprobe's configuration (`others`),
/// then `own`, those of the goal. The kernel uses the last value of a parameter.
std::string with_options(const ModuleOptions& others, const std::string& module, const std::string& own) {
    const auto found = others.find(module);
    if (found == others.end())
        return own;
    return found->second + (own.empty() ? "" : " ") + own;
}

ModuleOp load_op(const base::Root& root, const std::string& kernel, const ModuleOptions& others,
                 const GoalModule& module) {
    std::string path = module.path;
    if (path.empty()) {
        LoadedModule loaded;
        loaded.name = module.name;
        loaded.srcversion = module.srcversion;
        path = find_module_file(root, kernel, loaded).value_or(std::string());
    }
    std::string parameters = with_options(others, module.name, module.parameters);
    // Also adds the options that are configured for the file's name, since modprobe names a module after its
    // file. Debian's nvidia-current.ko has the module nvidia.
    if (const std::string file = module_name(path); !path.empty() && file != module.name)
        parameters = with_options(others, file, parameters);
    const ModuleOp::Type type = path.empty() ? ModuleOp::Type::LoadByName : ModuleOp::Type::Load;
    return {type, module.name, std::move(path), std::move(parameters), module.optional};
}

/// Starts to read the files of the modules to load into the page cache, before anything is unloaded. A slow
/// disk then does not lengthen the downtime.
void read_ahead(const base::Root& root, const std::vector<ModuleOp>& ops) {
    for (const ModuleOp& op : ops) {
        if (op.type != ModuleOp::Type::Load)
            continue;
        if (auto fd = root.open_file(op.path, O_RDONLY)) {
            struct stat st {};
            if (::fstat(fd->get(), &st) == 0)
                (void)::readahead(fd->get(), 0, static_cast<std::size_t>(st.st_size));
        }
    }
}

constexpr std::string_view log_hint = "See the kernel's log: journalctl -k -g 'NVRM|nvidia'.";

std::vector<std::string> unserved_gpus(const base::Root& root) {
    const std::vector<std::string> served = served_gpus(root);
    std::vector<std::string> unserved;
    for (const PciGpu& gpu : gpus_to_drive(nvidia_gpus(root)))
        if (std::find(served.begin(), served.end(), gpu.address) == served.end())
            unserved.push_back(gpu.address);
    return unserved;
}

std::string unserved_text(const base::Root& root, const std::string& gpu) {
    return "GPU " + gpu + " is not served by driver " + served_version(root) +
           (answers_on_pci(root, gpu) ? "" : ": it does not respond on the PCI bus");
}

class ModuleConverger {
  public:
    ModuleConverger(const base::Root& root, ModuleLoader& loader, const ModuleGoal& goal,
                    const ConvergeOptions& options)
        : root_(root), loader_(loader), goal_(goal), options_(options), others_(options_of_others(root)) {}

    Result<ConvergeReport> run() {
        GPUHOST_TRY(lock, ModuleLock::take(root_, options_.module_deadline));
        lock_ = &lock;
        Result<void> arrived = approach();
        // While a host boots, udev also loads modules, and a load fails with Busy if udev was faster. Each
        // repetition has one module fewer to load.
        const std::size_t most_races = std::max<std::size_t>(goal_.modules.size(), 3);
        for (std::size_t again = 0; !arrived && arrived.error().code == Errc::Busy && again < most_races;
             ++again)
            arrived = approach();
        if (!arrived)
            return base::fail(std::move(arrived).error());
        GPUHOST_CHECK(check_kernel(root_, goal_));
        if (options_.gpus)
            GPUHOST_CHECK(check_gpus(root_, goal_, *options_.gpus));
        report_.validated_us = base::monotonic_us();
        GPUHOST_TRY(notes, show_console());
        report_.notes.insert(report_.notes.end(), notes.begin(), notes.end());
        return std::move(report_);
    }

  private:
    /// Makes one attempt to reach the goal from the modules that are loaded now.
    Result<void> approach() {
        GPUHOST_TRY(modules, stable_modules(root_, options_.module_deadline));
        const std::vector<LoadedModule> going = to_unload(modules, goal_);
        GPUHOST_TRY(coming, missing(modules, going));
        return going.empty() && coming.empty() ? Result<void>{} : replace(going, coming);
    }

    /// Returns the modules that must be loaded for the goal after `going` were unloaded, in load order.
    /// `modules` are the loaded ones.
    Result<std::vector<ModuleOp>> missing(const std::vector<LoadedModule>& modules,
                                          const std::vector<LoadedModule>& going) const {
        GPUHOST_TRY(order, load_order(goal_.modules));
        const auto has = [](const std::vector<LoadedModule>& list, const std::string& name) {
            return std::any_of(list.begin(), list.end(),
                               [&](const auto& module) { return module.name == name; });
        };
        std::vector<ModuleOp> ops;
        for (const GoalModule& module : order)
            if (!has(modules, module.name) || has(going, module.name))
                ops.push_back(load_op(root_, options_.kernel, others_, module));
        return ops;
    }

    Result<void> replace(const std::vector<LoadedModule>& going, const std::vector<ModuleOp>& coming) {
        GPUHOST_CHECK(load_dependencies());
        read_ahead(root_, coming);
        std::vector<ModuleOp> ops = hide_console(going);
        ops.reserve(ops.size() + going.size() + coming.size());
        for (const LoadedModule& module : going)
            ops.push_back({ModuleOp::Type::Unload, module.name, {}, {}, false});
        ops.insert(ops.end(), coming.begin(), coming.end());
        GPUHOST_TRY(result, run_module_ops(loader_, ops, op_options(ops)));
        if (report_.first_unload_us == 0)
            report_.first_unload_us = result.first_unload_us;
        report(ops, result);
        return result.failure ? fail_op(ops[result.failure->index], *result.failure) : Result<void>{};
    }

    /// Returns the operation that unbinds the console from nvidia_drm, if the console is bound to nvidia_drm
    /// and this module is to be unloaded. The operation is optional: if it fails, the kernel may unload the
    /// module nevertheless.
    std::vector<ModuleOp> hide_console(const std::vector<LoadedModule>& going) {
        const auto console = driver_console(root_);
        if (!console || !console->bound ||
            std::none_of(going.begin(), going.end(),
                         [](const LoadedModule& module) { return module.name == "nvidia_drm"; }))
            return {};
        console_hidden_ = true;
        return {{ModuleOp::Type::UnbindConsole, console->name, {}, {}, true}};
    }

    /// Binds the console to nvidia_drm again if it was bound before, and the kernel has not done so already.
    /// If the kernel refuses, returns a sentence about that instead of an error: a missing console does not
    /// make the swap fail.
    Result<std::vector<std::string>> show_console() {
        const auto console = driver_console(root_);
        if (!console || console->bound || (!options_.console && !console_hidden_))
            return std::vector<std::string>{};
        const std::vector<ModuleOp> ops{{ModuleOp::Type::BindConsole, console->name, {}, {}, true}};
        GPUHOST_TRY(result, run_module_ops(loader_, ops, op_options(ops)));
        if (result.failure)
            return base::fail(op_error(ops.front(), *result.failure));
        return notes_of(ops, result);
    }

    std::vector<std::string> notes_of(const std::vector<ModuleOp>& ops, const ModuleOpsResult& result) const {
        std::vector<std::string> notes;
        for (const ModuleOpFailure& note : result.notes)
            notes.push_back(op_error(ops[note.index], note).message);
        return notes;
    }

    void report(const std::vector<ModuleOp>& ops, const ModuleOpsResult& result) {
        std::size_t next_note = 0;
        for (std::size_t i = 0; i < result.done; ++i) {
            if (next_note < result.notes.size() && result.notes[next_note].index == i)
                report_.notes.push_back(op_error(ops[i], result.notes[next_note++]).message);
            else if (ops[i].type != ModuleOp::Type::UnbindConsole)
                (ops[i].type == ModuleOp::Type::Unload ? report_.unloaded : report_.loaded)
                    .push_back(ops[i].name);
        }
    }

    /// Loads the modules of the distribution that the goal's modules depend on (drm and others), which
    /// affects no process. A module that only optional modules need is optional too.
    Result<void> load_dependencies() {
        std::vector<GoalModule> required = goal_.modules;
        required.erase(std::remove_if(required.begin(), required.end(),
                                      [](const auto& module) { return module.optional; }),
                       required.end());
        const std::vector<std::string> needed = outside_dependencies(required);
        std::vector<ModuleOp> ops;
        for (const std::string& name : outside_dependencies(goal_.modules))
            ops.push_back({ModuleOp::Type::LoadByName,
                           name,
                           {},
                           with_options(others_, name, {}),
                           std::find(needed.begin(), needed.end(), name) == needed.end()});
        GPUHOST_TRY(result, run_module_ops(loader_, ops, op_options(ops)));
        return result.failure ? base::fail(op_error(ops[result.failure->index], *result.failure))
                              : Result<void>{};
    }

    ModuleOpOptions op_options(const std::vector<ModuleOp>& ops) const {
        ModuleOpOptions options;
        options.deadline = options_.module_deadline;
        options.in_use_patience = options_.in_use_patience;
        options.on_begin = [this, &ops](std::size_t index) {
            if (options_.progress)
                options_.progress(static_cast<double>(index) / static_cast<double>(ops.size()),
                                  describe(ops[index]));
        };
        return options;
    }

    base::Error op_error(const ModuleOp& op, const ModuleOpFailure& failure) const {
        switch (failure.reason) {
        case ModuleOpFailure::Reason::Hung:
            lock_->leave_hung(describe(op));
            return hung_error(describe(op));
        case ModuleOpFailure::Reason::Died:
            return {Errc::Interrupted, describe(op) + ": the child process died", {}};
        case ModuleOpFailure::Reason::Refused:
            break;
        }
        if (op.type == ModuleOp::Type::UnbindConsole || op.type == ModuleOp::Type::BindConsole)
            return console_error(describe(op), failure.error);
        return op.type == ModuleOp::Type::Unload ? unload_error(op.name, failure.error)
                                                 : load_error(op.name, failure.error);
    }

    /// Describes what holds a module that could not be unloaded: processes, the console, or else the kernel
    /// itself.
    std::string users_of(const std::string& module) const {
        std::vector<std::string> users;
        if (std::string holders = describe(find_holders(root_)); !holders.empty())
            users.push_back(std::move(holders));
        if (const auto console = driver_console(root_); console && console->bound && module == "nvidia_drm")
            users.push_back(describe_console(console->name));
        return users.empty() ? "the kernel itself" : base::join(users, " and ");
    }

    Result<void> fail_op(const ModuleOp& op, const ModuleOpFailure& failure) {
        base::Error error = op_error(op, failure);
        if (error.code != Errc::InUse)
            return base::fail(std::move(error));
        error.message += " by " + users_of(op.name);
        const auto back = put_back();
        if (!back)
            error = back.error().context(error.message + "; loading the unloaded modules again");
        else if (!back->empty())
            error.message += "; " + base::join(*back, "; ");
        return base::fail(std::move(error));
    }

    /// Called if a module turned out to be in use: loads the modules again that were unloaded before, and
    /// binds the console again. Returns sentences about optional modules that could not be loaded.
    Result<std::vector<std::string>> put_back() {
        GPUHOST_TRY(order, load_order(options_.before.modules));
        std::vector<ModuleOp> ops;
        for (const GoalModule& module : order)
            if (std::find(report_.unloaded.begin(), report_.unloaded.end(), module.name) !=
                report_.unloaded.end())
                ops.push_back(load_op(root_, options_.kernel, others_, module));
        GPUHOST_TRY(result, run_module_ops(loader_, ops, op_options(ops)));
        if (result.failure)
            return base::fail(op_error(ops[result.failure->index], *result.failure));
        std::vector<std::string> notes = notes_of(ops, result);
        GPUHOST_TRY(shown, show_console());
        notes.insert(notes.end(), shown.begin(), shown.end());
        return notes;
    }

    const base::Root& root_;
    ModuleLoader& loader_;
    const ModuleGoal& goal_;
    const ConvergeOptions& options_;
    const ModuleOptions others_; ///< options of modprobe's configuration, by module
    ModuleLock* lock_ = nullptr;
    bool console_hidden_ = false;
    ConvergeReport report_;
};

} // namespace

Result<ConvergeReport> converge(const base::Root& root, ModuleLoader& loader, const ModuleGoal& goal,
                                const ConvergeOptions& options) {
    return ModuleConverger(root, loader, goal, options).run();
}

Result<void> check_kernel(const base::Root& root, const ModuleGoal& goal) {
    const std::vector<LoadedModule> modules = loaded_driver(root);
    for (const LoadedModule& module : modules)
        if (!is_as_wanted(module, goal))
            return base::fail(Errc::Failed, "module '" + module.name + "' " + module.version +
                                                " in the kernel (srcversion " + module.srcversion +
                                                ") is not the one that was loaded");
    for (const GoalModule& wanted : goal.modules) {
        const bool there = std::any_of(modules.begin(), modules.end(), [&](const LoadedModule& module) {
            return module.name == wanted.name;
        });
        if (!there && !wanted.optional)
            return base::fail(Errc::Failed, "module '" + wanted.name + "' is not loaded");
    }
    if (goal.version.empty())
        return {};
    if (const std::string version = served_version(root); version != goal.version)
        return base::fail(Errc::Failed,
                          "the kernel's driver reports version '" + version + "', expected " + goal.version);
    return {};
}

Result<void> check_gpus(const base::Root& root, const ModuleGoal& goal,
                        const std::vector<std::string>& required) {
    if (goal.version.empty())
        return {};
    const std::vector<std::string> unserved = unserved_gpus(root);
    if (unserved.empty())
        return {};
    if (served_gpus(root).empty())
        return base::fail(Errc::Failed, "the driver serves no GPU: " + unserved_text(root, unserved.front()),
                          std::string(log_hint));
    for (const std::string& gpu : unserved)
        if (answers_on_pci(root, gpu) && std::find(required.begin(), required.end(), gpu) != required.end())
            return base::fail(Errc::Failed, unserved_text(root, gpu) + ", but the previous driver served it",
                              std::string(log_hint));
    return {};
}

std::vector<std::string> describe_unserved_gpus(const base::Root& root) {
    std::vector<std::string> sentences;
    for (const std::string& gpu : unserved_gpus(root))
        sentences.push_back(unserved_text(root, gpu) +
                            "; see the kernel's log: journalctl -k -g 'NVRM|nvidia'");
    return sentences;
}

} // namespace gpuhost::kmod
