// SPDX-License-Identifier: Apache-2.0
// driver.prepare makes, while the host serves, all that the selection will lead to; driver.select changes
// what the host boots and finds (kmod/selection_files.hpp says in which order and why).
// args of both: {"kernel", "from": driver|null, "to": driver|null}; of select also {"options_from",
// "options_to": texts of modprobe's configuration, "selection_from", "selection_to": selection|null,
// "current_from": where current leads, "boots_only": the kernel does not run, so nothing but what it boots changes}.
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "kmod/driver_preflight.hpp"
#include "kmod/module_index.hpp"
#include "kmod/selection_files.hpp"
#include "kmod/step_kind.hpp"

#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Result;
using core::StepContext;

/// It becomes a part of paths that programs get.
Result<std::string> kernel_of(const base::Json& args) {
    std::string kernel = base::string_or(args, "kernel", "");
    if (!base::is_kernel_release(kernel))
        return base::fail(Errc::InvalidArgument, "'" + kernel + "' is not a kernel release");
    return kernel;
}
std::optional<Driver> driver_of(const base::Json& args, std::string_view key) {
    return driver_from_json(base::member(args, key));
}
/// Of this boot: depmod syncs nothing, so after a power cut its files may be there and empty. A transaction may be of several
/// kernels.
std::string index_name(const StepContext& context, const std::string& kernel, std::string_view which) {
    return "index-" + context.boot_id + "-" + kernel + "-" + std::string(which);
}
std::string index_directory(const StepContext& context, const std::string& kernel, std::string_view which) {
    return context.staging + "/" + index_name(context, kernel, which);
}

Result<void> perform_all(const base::Root& root, const std::vector<content::FileOperation>& operations) {
    for (const content::FileOperation& operation : operations)
        GPUHOST_CHECK(perform(root, operation));
    return {};
}

Result<void> check_all(const base::Root& root, const std::vector<content::FileOperation>& operations) {
    for (const content::FileOperation& operation : operations)
        if (!is_done(root, operation))
            return base::fail(Errc::Failed, "'" + operation.path + "' is not as it was just made");
    return {};
}

/// What the driver needs to be selected. A firmware directory that somebody else installed is as good as
/// ours.
std::vector<content::FileOperation> prepared_files(const base::Root& root, const Driver& driver) {
    std::vector<content::FileOperation> files = generation_files(driver);
    if (auto firmware = firmware_link(root, driver); firmware && content::is_ours(root, firmware->path))
        files.push_back(std::move(*firmware));
    return files;
}

/// What led to drivers that are not in the store any more.
Result<void> drop_dangling(const base::Root& root) {
    const std::string directory = std::string(store_directory) + "/generation";
    for (const std::string& name : root.list(directory).value_or(std::vector<std::string>()))
        if (!root.stat(directory + "/" + name + "/modules"))
            GPUHOST_CHECK(root.remove_tree(directory + "/" + name));
    const std::string firmware = "/lib/firmware/nvidia";
    for (const std::string& name : root.list(firmware).value_or(std::vector<std::string>()))
        if (const std::string path = firmware + "/" + name; content::is_ours(root, path) && !root.stat(path))
            GPUHOST_CHECK(root.remove(path));
    return {};
}

/// The index for going back too, so that it takes no time later: most often it is the same. Where there is no
/// driver to go back to there is no hurry either.
Result<base::Json> prepare(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(kernel, kernel_of(args));
    const auto from = driver_of(args, "from");
    const auto to = driver_of(args, "to");
    GPUHOST_CHECK(drop_dangling(context.root));
    for (const auto& driver : {from, to})
        if (driver)
            GPUHOST_CHECK(perform_all(context.root, prepared_files(context.root, *driver)));
    context.progress(-1, "computing the module index");
    GPUHOST_CHECK(build_index(context.root, kernel, to ? to->modules : std::string(),
                              index_directory(context, kernel, "to")));
    const std::string back = index_directory(context, kernel, "from");
    GPUHOST_CHECK(context.root.remove_tree(back));
    if (index_is_installed(context.root, kernel, index_directory(context, kernel, "to")))
        GPUHOST_CHECK(context.root.symlink_atomic(index_name(context, kernel, "to"), back));
    else if (from)
        GPUHOST_CHECK(build_index(context.root, kernel, from->modules, back));
    return base::Json::object();
}

Result<void> verify_prepared(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(kernel, kernel_of(args));
    const auto driver = driver_of(args, "to");
    if (!driver)
        return {};
    GPUHOST_CHECK(check_index(context.root, kernel, driver->modules, index_directory(context, kernel, "to")));
    return check_all(context.root, prepared_files(context.root, *driver));
}

/// What leads to the new driver only. Firmware that another kernel's selection uses stays.
Result<void> unprepare(StepContext& context, const base::Json& args) {
    const auto to = driver_of(args, "to");
    const auto from = driver_of(args, "from");
    if (!to || (from && from->generation == to->generation))
        return {};
    std::string generation;
    for (const content::FileOperation& file : generation_files(*to)) {
        GPUHOST_CHECK(context.root.remove(file.path));
        generation = file.path.substr(0, file.path.rfind('/'));
    }
    GPUHOST_CHECK(context.root.remove(generation));
    GPUHOST_TRY(store, read_store(context.root));
    for (const auto& [kernel, selection] : store.selected)
        if (selection.generation.version == to->generation.version)
            return {};
    if (const auto firmware = firmware_link(context.root, *to); firmware && is_done(context.root, *firmware))
        return context.root.remove(firmware->path);
    return {};
}

/// The linker's cache follows the links; a tree without privileges can't be entered for it, and gets it when
/// it boots.
Result<void> refresh_libraries(const base::Root& root) {
    base::Command command;
    command.argv = {"ldconfig"};
    if (!root.is_host()) {
        if (::geteuid() != 0 || !root.exists("/etc/ld.so.conf"))
            return {};
        command.argv.insert(command.argv.end(), {"-r", root.directory()});
    }
    GPUHOST_TRY(finished, base::run(command));
    if (finished.exit_status == 0)
        return {};
    return base::fail(Errc::Failed, "ldconfig: " + finished.output);
}

Result<void> record(const base::Root& root, std::string_view kernel, const base::Json& selection) {
    if (const auto value = selection_from_json(selection))
        return write_selection(root, kernel, *value);
    return remove_selection(root, kernel);
}

/// Selects "from" or "to".
Result<void> select(StepContext& context, const base::Json& args, const std::string& which) {
    GPUHOST_TRY(kernel, kernel_of(args));
    const auto driver = driver_of(args, which);
    const SelectionFiles files = selection_files(context.root, args, which);
    const std::string index = index_directory(context, kernel, which);
    const std::string other_index = index_directory(context, kernel, which == "to" ? "from" : "to");
    if (!index_is_current(context.root, kernel, index))
        GPUHOST_CHECK(build_index(context.root, kernel, driver ? driver->modules : std::string(), index));
    if (driver)
        GPUHOST_CHECK(perform_all(context.root, prepared_files(context.root, *driver)));
    GPUHOST_CHECK(perform_all(context.root, files.before_index));
    const bool other_holds = index_is_current(context.root, kernel, other_index);
    GPUHOST_CHECK(install_index(context.root, kernel, index));
    if (other_holds) // what changed the host's index is no news
        GPUHOST_CHECK(keep_index_current(context.root, kernel, other_index));
    GPUHOST_CHECK(record(context.root, kernel, base::member(args, "selection_" + which)));
    GPUHOST_CHECK(perform_all(context.root, files.after_index));
    return refresh_libraries(context.root);
}

Result<void> verify_selected(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(kernel, kernel_of(args));
    const auto driver = driver_of(args, "to");
    GPUHOST_CHECK(check_all(context.root, selection_files(context.root, args, "to").before_index));
    const std::string index = index_directory(context, kernel, "to");
    if (driver)
        GPUHOST_CHECK(check_index(context.root, kernel, driver->modules, index));
    if (!index_is_installed(context.root, kernel, index))
        return base::fail(Errc::Failed, "the module index of " + kernel + " is not what was just installed");
    GPUHOST_TRY(selection, read_selection(context.root, kernel));
    if (selection != selection_from_json(base::member(args, "selection_to")))
        return base::fail(Errc::Failed, "the selection for " + kernel + " is not what was just recorded");
    return {};
}

} // namespace

core::StepKind driver_prepare_kind() {
    core::StepKind kind;
    kind.name = "driver.prepare";
    kind.sandbox = core::Sandbox::System;
    kind.deadline = std::chrono::minutes(12);
    kind.preflight = prepare_preflight;
    kind.apply = prepare;
    kind.verify = verify_prepared;
    kind.undo = unprepare;
    return kind;
}

core::StepKind driver_select_kind() {
    core::StepKind kind;
    kind.name = "driver.select";
    kind.sandbox = core::Sandbox::System;
    kind.deadline = std::chrono::minutes(12);
    kind.preflight = select_preflight;
    kind.apply = [](StepContext& context, const base::Json& args) -> Result<base::Json> {
        GPUHOST_CHECK(select(context, args, "to"));
        return base::Json::object();
    };
    kind.verify = verify_selected;
    kind.undo = [](StepContext& context, const base::Json& args) { return select(context, args, "from"); };
    return kind;
}

} // namespace gpuhost::kmod
