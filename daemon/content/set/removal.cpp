// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/set/removal.hpp"

#include <functional>

namespace gpuhost::content {

using base::Json;
using base::Result;
using core::StepContext;

namespace {

struct Paths {
    std::string store;   ///< path of the directory in the store
    std::string removed; ///< path of the removed directory in .trash/TRANSACTION
    std::string trash;
};

Result<Paths> paths_of(const Removing& removing, const StepContext& context, const Json& args) {
    GPUHOST_TRY(place, removing.place(args));
    const std::string store(removing.store);
    const std::string trash = store + "/.trash";
    const std::string transaction = context.staging.substr(context.staging.rfind('/'));
    return Paths{store + "/" + place, trash + transaction + "/" + place, trash};
}

std::string parent(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

Result<std::vector<core::Problem>> preflight(const Removing& removing, StepContext& context,
                                             const Json& args) {
    GPUHOST_TRY(paths, paths_of(removing, context, args));
    return removing.check(context, args, paths.store);
}

Result<Json> apply(const Removing& removing, StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(removing, context, args));
    if (context.root.exists(paths.removed))
        return Json::object();
    GPUHOST_TRY(problems, removing.check(context, args, paths.store));
    if (!problems.empty())
        return base::fail(problems.front().code, problems.front().text, problems.front().hint);
    GPUHOST_CHECK(context.root.make_directories(parent(paths.removed), 0700));
    GPUHOST_CHECK(context.root.rename(paths.store, paths.removed));
    return Json::object();
}

Result<void> verify(const Removing& removing, const StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(removing, context, args));
    if (context.root.exists(paths.store))
        return base::fail(base::Errc::Failed, paths.store + ": still exists");
    return {};
}

Result<void> undo(const Removing& removing, const StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(removing, context, args));
    if (context.root.exists(paths.removed))
        GPUHOST_CHECK(context.root.rename(paths.removed, paths.store));
    // Removes the trash directory only if it is empty: it may contain other directories that this transaction
    // removed.
    return remove_empty(context.root, parent(paths.removed), paths.trash);
}

Result<Json> purge(const Removing& removing, StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(removing, context, args));
    GPUHOST_CHECK(removing.before_purge(context, args));
    GPUHOST_CHECK(remove_empty(context.root, parent(paths.store), removing.store));
    // Deletes the whole .trash, also what earlier transactions left. Only one transaction runs at a time, so
    // nothing else can be restored from it.
    GPUHOST_CHECK(context.root.remove_tree(paths.trash));
    return Json::object();
}

} // namespace

Result<void> remove_empty(const base::Root& root, std::string directory, std::string_view top) {
    for (; directory.size() > top.size(); directory = parent(directory)) {
        const auto left = root.list(directory);
        if (left && !left->empty())
            break;
        GPUHOST_CHECK(root.remove(directory));
    }
    return {};
}

core::StepCode remove_code(std::string name, const Removing& removing) {
    return {.name = std::move(name),
            .preflight = std::bind_front(preflight, removing),
            .apply = std::bind_front(apply, removing),
            .verify = std::bind_front(verify, removing),
            .undo = std::bind_front(undo, removing)};
}

core::StepCode purge_code(std::string name, const Removing& removing) {
    // No undo: the files are deleted.
    return {.name = std::move(name), .apply = std::bind_front(purge, removing)};
}

} // namespace gpuhost::content
