// SPDX-License-Identifier: Apache-2.0
// Step driver.prepare creates, while the host is in use, all files to which the selection will link, and the
// new module index. Step driver.select makes the host boot and use the driver "to"
// (kmod/boot/selection_files.hpp explains the order of its changes). args of both: {"kernel", "from":
// driver|null, "to": driver|null}. args of driver.select also: {"options_from", "options_to": content of
// options_file, "selection_from", "selection_to": selection|null, "current_from": target of the link
// `current`, "boots_only": true for a kernel that is not running, so that only its own files change}.
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "kmod/boot/selection_files.hpp"
#include "kmod/module/index.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/select/driver_preflight.hpp"
#include "kmod/step_code.hpp"

#include <algorithm>

#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Result;
using core::StepContext;

/// Returns "kernel" of the args. Fails with InvalidArgument if it is not a release, because it becomes part
/// of paths.
Result<std::string> kernel_of(const base::Json& args) {
    std::string kernel = base::string_or(args, "kernel", "");
    if (!base::is_kernel_release(kernel))
        return base::fail(Errc::InvalidArgument, "'" + kernel + "' is not a kernel release");
    return kernel;
}
std::optional<Driver> driver_of(const base::Json& args, std::string_view key) {
    return driver_from_json(base::member(args, key));
}
/// Returns the name of the directory with the index for "to" or "from". It contains the kernel, because one
/// transaction may have steps for several kernels.
std::string index_name(const std::string& kernel, std::string_view which) {
    return "index-" + kernel + "-" + std::string(which);
}
std::string index_directory(const StepContext& context, const std::string& kernel, std::string_view which) {
    return context.staging + "/" + index_name(kernel, which);
}

Result<void> perform_all(const base::Root& root, const std::vector<content::FileOperation>& operations) {
    for (const content::FileOperation& operation : operations)
        GPUHOST_CHECK(perform(root, operation));
    return {};
}

Result<void> check_all(const base::Root& root, const std::vector<content::FileOperation>& operations) {
    for (const content::FileOperation& operation : operations)
        if (!is_done(root, operation))
            return base::fail(Errc::Failed, "'" + operation.path + "' differs from what was just created");
    return {};
}

/// Returns the operations that must be done before the driver is selected: links of its generation, and of
/// its firmware. A firmware directory that gpuhost did not create is not changed.
std::vector<content::FileOperation> prepared_files(const base::Root& root, const Driver& driver) {
    std::vector<content::FileOperation> files = generation_files(driver);
    if (auto firmware = firmware_link(root, driver); firmware && content::is_ours(root, firmware->path))
        files.push_back(std::move(*firmware));
    return files;
}

/// Removes the links of drivers that were removed from the store: their generations and their firmware.
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

/// Applies driver.prepare: creates the files to which the selection links, and the module index for "to".
/// Also makes the index for "from", so that an undo is fast. If the index for "to" is the installed one, a
/// link to it suffices.
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
        GPUHOST_CHECK(context.root.symlink_atomic(index_name(kernel, "to"), back));
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

/// Returns whether this driver version is loaded, or any kernel boots it or has selected it. Its firmware and
/// links must stay then, since a GPU reads firmware at each start.
Result<bool> is_in_use(const base::Root& root, const Driver& driver) {
    if (served_version(root) == driver.generation.version)
        return true;
    GPUHOST_TRY(store, read_store(root));
    if (std::any_of(store.selected.begin(), store.selected.end(), [&](const auto& selected) {
            return selected.second.generation.version == driver.generation.version;
        }))
        return true;
    const std::string boots = std::string(store_directory) + "/boot";
    const auto kernels = root.list(boots).value_or(std::vector<std::string>());
    return std::any_of(kernels.begin(), kernels.end(), [&](const std::string& kernel) {
        return boot_modules(root, kernel) == driver.modules;
    });
}

/// Undoes driver.prepare: removes the links to the driver "to", unless it is in use.
Result<void> unprepare(StepContext& context, const base::Json& args) {
    const auto to = driver_of(args, "to");
    const auto from = driver_of(args, "from");
    if (!to || (from && from->generation == to->generation))
        return {};
    GPUHOST_TRY(in_use, is_in_use(context.root, *to));
    if (in_use)
        return {};
    std::string generation;
    for (const content::FileOperation& file : generation_files(*to)) {
        GPUHOST_CHECK(context.root.remove(file.path));
        generation = file.path.substr(0, file.path.rfind('/'));
    }
    GPUHOST_CHECK(context.root.remove(generation));
    if (const auto firmware = firmware_link(context.root, *to); firmware && is_done(context.root, *firmware))
        return context.root.remove(firmware->path);
    return {};
}

/// Updates the dynamic linker's cache after the links have changed. For a mounted system this needs root.
/// Without root, the update is skipped, and the mounted system updates its cache when it boots.
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

/// Installs the module index for "to" or "from" (`which`). Builds it first if it is not current.
Result<void> update_index(const StepContext& context, const std::string& kernel,
                          const std::optional<Driver>& driver, const std::string& which) {
    const std::string index = index_directory(context, kernel, which);
    const std::string other = index_directory(context, kernel, which == "to" ? "from" : "to");
    if (!index_is_current(context.root, kernel, index))
        GPUHOST_CHECK(build_index(context.root, kernel, driver ? driver->modules : std::string(), index));
    const bool other_holds = index_is_current(context.root, kernel, other);
    GPUHOST_CHECK(install_index(context.root, kernel, index));
    // The other index is still right: the installed index changed only because of this step. Without this
    // call, an undo would run depmod again.
    if (other_holds)
        (void)keep_index_current(context.root, kernel, other);
    return {};
}

/// Applies driver.select. The operations are in such an order that each finds what it needs. If one fails,
/// the host still boots the old driver, or the undo reverts what was done.
Result<void> select(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(kernel, kernel_of(args));
    const auto driver = driver_of(args, "to");
    const SelectionFiles files = selection_files(context.root, args, "to");
    const std::string index = index_directory(context, kernel, "to");
    if (!index_is_current(context.root, kernel, index))
        GPUHOST_CHECK(build_index(context.root, kernel, driver ? driver->modules : std::string(), index));
    if (driver)
        GPUHOST_CHECK(perform_all(context.root, prepared_files(context.root, *driver)));
    GPUHOST_CHECK(perform_all(context.root, files.before_index));
    GPUHOST_CHECK(update_index(context, kernel, driver, "to"));
    GPUHOST_CHECK(record(context.root, kernel, base::member(args, "selection_to")));
    GPUHOST_CHECK(perform_all(context.root, files.after_index));
    return refresh_libraries(context.root);
}

/// Performs operations, also after one has failed, and keeps the first error.
class FirstError {
  public:
    void add(Result<void> result) {
        if (result_ && !result)
            result_ = std::move(result);
    }
    void add(const base::Root& root, const std::vector<content::FileOperation>& operations) {
        for (const content::FileOperation& operation : operations)
            add(perform(root, operation));
    }
    [[nodiscard]] const Result<void>& result() const { return result_; }

  private:
    Result<void> result_;
};

/// Undoes driver.select. Writes the record of the selection first, because the record needs disk space and
/// links do not. If this write fails, nothing else has changed. All other operations run even if one of them
/// fails. Installs the index last, because the host boots with either index, and with a mix of both.
Result<void> select_back(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(kernel, kernel_of(args));
    const auto driver = driver_of(args, "from");
    const SelectionFiles files = selection_files(context.root, args, "from");
    GPUHOST_CHECK(record(context.root, kernel, base::member(args, "selection_from")));
    FirstError first;
    if (driver)
        first.add(context.root, prepared_files(context.root, *driver));
    first.add(context.root, files.before_index);
    first.add(context.root, files.after_index);
    first.add(refresh_libraries(context.root));
    first.add(update_index(context, kernel, driver, "from"));
    return first.result();
}

Result<void> verify_selected(StepContext& context, const base::Json& args) {
    GPUHOST_TRY(kernel, kernel_of(args));
    const auto driver = driver_of(args, "to");
    GPUHOST_CHECK(check_all(context.root, selection_files(context.root, args, "to").before_index));
    const std::string index = index_directory(context, kernel, "to");
    if (driver)
        GPUHOST_CHECK(check_index(context.root, kernel, driver->modules, index));
    if (!index_is_installed(context.root, kernel, index))
        return base::fail(Errc::Failed,
                          "the module index of " + kernel + " differs from what was just installed");
    GPUHOST_TRY(selection, read_selection(context.root, kernel));
    if (selection != selection_from_json(base::member(args, "selection_to")))
        return base::fail(Errc::Failed,
                          "the selection for " + kernel + " differs from what was just recorded");
    return {};
}

} // namespace

core::StepCode driver_prepare_code() {
    return {.name = "driver.prepare",
            .preflight = prepare_preflight,
            .apply = prepare,
            .verify = verify_prepared,
            .undo = unprepare};
}

core::StepCode driver_select_code() {
    core::StepCode code;
    code.name = "driver.select";
    code.preflight = select_preflight;
    code.apply = [](StepContext& context, const base::Json& args) -> Result<base::Json> {
        GPUHOST_CHECK(select(context, args));
        return base::Json::object();
    };
    code.verify = verify_selected;
    code.undo = select_back;
    return code;
}

} // namespace gpuhost::kmod
