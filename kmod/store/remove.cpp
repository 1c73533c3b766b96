// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/remove.hpp"

#include "daemon/base/kernels.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "kmod/holder/mappers.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/step_kind.hpp"
#include "kmod/store/manifest.hpp"
#include "kmod/store/store.hpp"

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using core::Problem;
using core::StepContext;

namespace {

const std::string trash_directory = std::string(store_directory) + "/.trash";

struct Paths {
    std::string store;   ///< path of the version, or of the module set, in the store
    std::string removed; ///< its path in .trash/<transaction>
};

/// Returns the kernel whose module set is removed. Empty: the whole version is removed.
std::string kernel_of(const Json& args) {
    return base::string_or(args, "kernel", {});
}

/// Returns the path of what is removed, relative to the store.
Result<std::string> place_of(const Json& args) {
    GPUHOST_TRY(version, base::get_string(args, "version"));
    if (!base::is_driver_version(version))
        return base::fail(Errc::InvalidArgument, "'" + version + "' is not a driver version");
    if (kernel_of(args).empty())
        return version;
    Manifest set;
    set.kind = SetKind::Modules;
    set.version = version;
    set.kernel = kernel_of(args);
    set.flavour = base::string_or(args, "flavour", {});
    const std::string digest = base::string_or(args, "digest", {});
    const bool is_flavour = set.flavour == "open" || set.flavour == "proprietary";
    if (!base::is_kernel_release(set.kernel) || !is_flavour || !content::is_sha256(digest))
        return base::fail(Errc::InvalidArgument,
                          "'" + set_place(set) + "/" + digest + "' is not a module set");
    return set_place(set) + "/" + digest;
}

Result<Paths> paths_of(const StepContext& context, const Json& args) {
    GPUHOST_TRY(place, place_of(args));
    const std::string trash = trash_directory + context.staging.substr(context.staging.rfind('/'));
    return Paths{std::string(store_directory) + "/" + place, trash + "/" + place};
}

std::string parent(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

/// Removes `directory` and its parents up to `top`, without `top`, as long as they are empty.
Result<void> remove_empty(const Root& root, std::string directory, std::string_view top) {
    for (; directory.size() > top.size(); directory = parent(directory)) {
        const auto left = root.list(directory);
        if (left && !left->empty())
            break;
        GPUHOST_CHECK(root.remove(directory));
    }
    return {};
}

/// Returns "driver 550.163.01" or "the open modules of driver 550.163.01 for 6.1.0-40-amd64".
std::string describe_what(const Json& args) {
    const std::string driver = "driver " + base::string_or(args, "version", {});
    return kernel_of(args).empty() ? driver
                                   : "the " + base::string_or(args, "flavour", {}) + " modules of " + driver +
                                         " for " + kernel_of(args);
}

Result<void> check_selected(const Root& root, const std::string& version, std::vector<Problem>& problems) {
    GPUHOST_TRY(selected, read_selections(root));
    for (const auto& [kernel, selection] : selected)
        if (selection.generation.version == version)
            problems.push_back({Errc::InUse, "driver " + version + " is selected for kernel " + kernel,
                                "Swap to another version first: gpuhostctl driver swap VERSION."});
    return {};
}

void check_loaded(const Root& root, const std::string& version, std::vector<Problem>& problems) {
    if (root.read_line("/sys/module/nvidia/version").value_or("") == version)
        problems.push_back({Errc::InUse, "driver " + version + " is loaded",
                            "Swap to another version first: gpuhostctl driver swap VERSION."});
}

/// Adds a problem if the kernel is installed. The plan removes only module sets of removed kernels, but the
/// kernel may have been installed again since.
Result<void> check_kernel_removed(const Root& root, const std::string& kernel,
                                  std::vector<Problem>& problems) {
    GPUHOST_TRY(running, kernel_release(root));
    if (running == kernel || base::kernel_is_installed(root, kernel))
        problems.push_back(
            {Errc::InUse, "kernel " + kernel + " is installed", "Run gpuhostctl driver clean again."});
    return {};
}

/// Adds a problem if a process or container uses a file below `directory`.
Result<void> check_mapped(const Root& root, const std::string& directory, std::vector<Problem>& problems) {
    GPUHOST_TRY(mappers, find_mappers(root, directory));
    for (const Holder& holder : mappers)
        problems.push_back({Errc::InUse, describe(holder) + " uses " + holder.devices.front(),
                            "Stop or restart it: it uses files of this version."});
    return {};
}

Result<std::vector<Problem>> preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    const std::string version = base::string_or(args, "version", {});
    std::vector<Problem> problems;
    if (!context.root.exists(paths.store)) {
        problems.push_back({Errc::NotFound, describe_what(args) + " is not in the store",
                            "List the drivers in the store: gpuhostctl driver list."});
        return problems;
    }
    if (kernel_of(args).empty()) {
        GPUHOST_CHECK(check_selected(context.root, version, problems));
        check_loaded(context.root, version, problems);
    } else {
        GPUHOST_CHECK(check_kernel_removed(context.root, kernel_of(args), problems));
    }
    GPUHOST_CHECK(check_mapped(context.root, paths.store, problems));
    return problems;
}

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    if (context.root.exists(paths.removed))
        return Json::object();
    // Checks again, because it may be in use since the preflight.
    GPUHOST_TRY(problems, preflight(context, args));
    if (!problems.empty())
        return base::fail(problems.front().code, problems.front().text, problems.front().hint);
    GPUHOST_CHECK(context.root.make_directories(parent(paths.removed), 0700));
    GPUHOST_CHECK(context.root.rename(paths.store, paths.removed));
    return Json::object();
}

Result<void> verify(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    if (context.root.exists(paths.store))
        return base::fail(Errc::Failed, paths.store + ": still exists");
    return {};
}

Result<void> undo(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    if (context.root.exists(paths.removed))
        GPUHOST_CHECK(context.root.rename(paths.removed, paths.store));
    // Removes the trash directory only if it is empty: it may contain other directories that this transaction
    // removed.
    return remove_empty(context.root, parent(paths.removed), trash_directory);
}

Result<Json> purge(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    // Changes the selections only here, not in store.remove, which can be undone.
    if (kernel_of(args).empty())
        GPUHOST_CHECK(forget_selected(context.root, base::string_or(args, "version", {})));
    else
        GPUHOST_CHECK(remove_empty(context.root, parent(paths.store), store_directory));
    context.progress(-1, "deleting " + describe_what(args));
    // Deletes the whole .trash, also what earlier transactions left. Only one transaction runs at a time, so
    // nothing else can be restored from it.
    GPUHOST_CHECK(context.root.remove_tree(trash_directory));
    return Json::object();
}

} // namespace

core::StepKind store_remove_kind() {
    core::StepKind kind;
    kind.name = "store.remove";
    // Reads the mappings of all processes, and waits for the disk.
    kind.deadline = std::chrono::minutes(5);
    kind.sandbox = core::Sandbox::Units; // can read the mappings of all processes; Sandbox::Store cannot
    kind.preflight = preflight;
    kind.apply = apply;
    kind.verify = verify;
    kind.undo = undo;
    return kind;
}

core::StepKind store_purge_kind() {
    core::StepKind kind;
    kind.name = "store.purge";
    kind.sandbox = core::Sandbox::Store;
    kind.deadline = std::chrono::minutes(10);
    kind.apply = purge;
    // No undo: the files are deleted.
    return kind;
}

} // namespace gpuhost::kmod
