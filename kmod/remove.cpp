// SPDX-License-Identifier: Apache-2.0
#include "kmod/remove.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/mappers.hpp"
#include "kmod/step_kind.hpp"
#include "kmod/store.hpp"

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
    std::string store;   ///< the version in its place
    std::string trash;   ///< this transaction's own
    std::string removed; ///< the version, whole, in the trash
};

Result<Paths> paths_of(const StepContext& context, const Json& args) {
    GPUHOST_TRY(version, base::get_string(args, "version"));
    if (!base::is_driver_version(version))
        return base::fail(Errc::InvalidArgument, "'" + version + "' is not a driver version");
    const std::string store(store_directory);
    const std::string trash = trash_directory + context.staging.substr(context.staging.rfind('/'));
    return Paths{store + "/" + version, trash, trash + "/" + version};
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

Result<void> check_mapped(const Root& root, const std::string& directory, std::vector<Problem>& problems) {
    GPUHOST_TRY(mappers, find_mappers(root, directory));
    for (const Holder& holder : mappers)
        problems.push_back({Errc::InUse, describe(holder) + " uses " + holder.devices.front(),
                            "Stop or restart it; it keeps files of this version."});
    return {};
}

Result<std::vector<Problem>> preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    const std::string version = base::string_or(args, "version", {});
    std::vector<Problem> problems;
    if (!context.root.exists(paths.store)) {
        problems.push_back(
            {Errc::NotFound, "driver " + version + " is not in the store", "See gpuhostctl driver list."});
        return problems;
    }
    GPUHOST_CHECK(check_selected(context.root, version, problems));
    check_loaded(context.root, version, problems);
    GPUHOST_CHECK(check_mapped(context.root, paths.store, problems));
    return problems;
}

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    if (context.root.exists(paths.removed))
        return Json::object();
    GPUHOST_TRY(problems, preflight(context, args)); // somebody may have begun to use it
    if (!problems.empty())
        return base::fail(problems.front().code, problems.front().text, problems.front().hint);
    GPUHOST_CHECK(context.root.make_directories(paths.trash, 0700));
    GPUHOST_CHECK(context.root.rename(paths.store, paths.removed));
    return Json::object();
}

Result<void> verify(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    if (context.root.exists(paths.store))
        return base::fail(Errc::Failed, paths.store + ": is still there");
    return {};
}

Result<void> undo(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    const bool removed = context.root.exists(paths.removed);
    if (removed)
        GPUHOST_CHECK(context.root.rename(paths.removed, paths.store));
    // Other versions of this transaction may be in it still.
    const auto left = context.root.list(paths.trash);
    return left && left->empty() ? context.root.remove(paths.trash) : Result<void>();
}

Result<Json> purge(StepContext& context, const Json& args) {
    // Here and not in store.remove: until this step begins all of it may have to come back.
    GPUHOST_CHECK(forget_selected(context.root, base::string_or(args, "version", {})));
    context.progress(-1, "deleting " + base::string_or(args, "version", {}));
    // All of the trash: there is one transaction at a time, so the rest is what could not be put back.
    GPUHOST_CHECK(context.root.remove_tree(trash_directory));
    return Json::object();
}

} // namespace

core::StepKind store_remove_kind() {
    core::StepKind kind;
    kind.name = "store.remove";
    kind.deadline = std::chrono::minutes(5); // it reads what every process maps, and waits for the disk
    kind.sandbox = core::Sandbox::Units;     // sees what every process maps; the store's own sandbox does not
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
    // No undo: it is the point of no return.
    return kind;
}

} // namespace gpuhost::kmod
