// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/runtime/toolkit/steps.hpp"
#include "daemon/runtime/toolkit/store.hpp"
#include "daemon/runtime/toolkit/use.hpp"

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using core::Problem;
using core::StepContext;

namespace {

const std::string trash_directory = std::string(toolkit_directory) + "/.trash";

struct Paths {
    std::string store;   ///< directory of the version in the store
    std::string trash;   ///< this transaction's directory in the trash
    std::string removed; ///< place of the version in the trash after apply
};

Result<Paths> paths_of(const StepContext& context, const Json& args) {
    GPUHOST_TRY(version, base::get_string(args, "version"));
    if (!base::is_toolkit_version(version))
        return base::fail(Errc::InvalidArgument, "'" + version + "' is not a version of the toolkit");
    const std::string trash = trash_directory + context.staging.substr(context.staging.rfind('/'));
    return Paths{std::string(toolkit_directory) + "/" + version, trash, trash + "/" + version};
}

Result<std::vector<Problem>> preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    const std::string version = base::string_or(args, "version", {});
    std::vector<Problem> problems;
    if (!context.root.exists(paths.store)) {
        problems.push_back({Errc::NotFound, "toolkit " + version + " is not in the store",
                            "List the toolkits with 'gpuhostctl toolkit list'."});
        return problems;
    }
    if (base::starts_with(current_toolkit(context.root), paths.store + "/"))
        problems.push_back({Errc::InUse, "toolkit " + version + " is selected",
                            "Select another one or none with [Toolkit] Version= in gpuhostd.conf, then run "
                            "'gpuhostctl apply'."});
    GPUHOST_TRY(users, toolkit_users(context.root, paths.store));
    for (const std::string& user : users)
        problems.push_back(
            {Errc::InUse, "toolkit " + version + " is in use: " + user, "Remove it when that has ended."});
    return problems;
}

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(paths, paths_of(context, args));
    if (context.root.exists(paths.removed))
        return Json::object();
    GPUHOST_TRY(problems, preflight(context, args)); // a container may have started since the preflight
    if (!problems.empty())
        return base::fail(problems.front().code, problems.front().text, problems.front().hint);
    GPUHOST_CHECK(context.root.make_directories(paths.trash, 0700));
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
    return context.root.remove_tree(paths.trash);
}

Result<Json> purge(StepContext& context, const Json& args) {
    context.progress(-1, "deleting toolkit " + base::string_or(args, "version", {}));
    // Empties the whole trash. No other transaction runs at the same time, so other content is what an
    // earlier undo could not restore.
    GPUHOST_CHECK(context.root.remove_tree(trash_directory));
    return Json::object();
}

} // namespace

core::StepKind toolkit_remove_kind() {
    core::StepKind kind;
    kind.name = "toolkit.remove";
    kind.deadline = std::chrono::minutes(5); // reads the mappings of all processes, and waits for the disk
    kind.sandbox = core::Sandbox::Units; // may read the mappings of all processes, unlike the Store sandbox
    kind.preflight = preflight;
    kind.apply = apply;
    kind.verify = verify;
    kind.undo = undo;
    return kind;
}

core::StepKind toolkit_purge_kind() {
    core::StepKind kind;
    kind.name = "toolkit.purge";
    kind.sandbox = core::Sandbox::Store;
    kind.deadline = std::chrono::minutes(10);
    kind.apply = purge;
    // No undo: this is the point of no return.
    return kind;
}

} // namespace gpuhost::runtime
