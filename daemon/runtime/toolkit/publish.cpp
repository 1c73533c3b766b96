// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/content/set/publication.hpp"
#include "daemon/runtime/toolkit/stage.hpp"
#include "daemon/runtime/toolkit/steps.hpp"
#include "daemon/runtime/toolkit/store.hpp"

#include <algorithm>
#include <map>

#include <sys/stat.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using content::Publication;
using core::StepContext;

namespace {

/// Returns the directory of staged toolkits. Drivers that the same transaction publishes have another
/// directory and another record of moves.
std::string staging_of(const StepContext& context) {
    return context.staging + std::string(staged_toolkits);
}

/// Hashes a staged set and returns its place in the store. The parser's manifest is trusted only for the
/// purpose of each file.
Result<std::string> check_staged(const StepContext& context, const std::string& path,
                                 const std::vector<std::string>& protect) {
    GPUHOST_TRY(set, read_toolkit(context.root, path));
    GPUHOST_TRY(bad, check_toolkit(context.root, set));
    if (!bad.empty())
        return base::fail(Errc::BadContent, path + " does not match its manifest: " + base::join(bad, "; "));
    if (std::find(protect.begin(), protect.end(), set.manifest.version) != protect.end())
        return base::fail(Errc::AccessDenied,
                          "toolkit " + set.manifest.version +
                              " is configured or selected, and its files have another name",
                          "Import it as root with 'sudo gpuhostctl toolkit import FILE…'.");
    return std::string(toolkit_directory) + "/" + set.manifest.version + "/" + set.digest;
}

Result<Publication> intend(const StepContext& context, const Json& args) {
    const std::string staging = staging_of(context);
    GPUHOST_TRY(names, context.root.list(staging));
    std::map<std::string, std::string> places;
    for (const std::string& name : names) {
        const auto st = context.root.lstat(staging + "/" + name);
        if (!st || !S_ISDIR(st->st_mode))
            continue;
        GPUHOST_TRY(place,
                    check_staged(context, staging + "/" + name, base::strings_or_empty(args, "protect")));
        places.emplace(staging + "/" + name, std::move(place));
    }
    return content::write_publication(context.root, staging, std::move(places));
}

bool is_intact(const Root& root, const std::string& path) {
    const auto set = read_toolkit(root, path);
    const auto bad = set ? check_toolkit(root, *set) : base::fail(set.error());
    return bad && bad->empty();
}

Result<Json> apply(StepContext& context, const Json& args) {
    const std::string staging = staging_of(context);
    if (!context.root.exists(staging))
        return base::bool_or(args, "optional", false) ? Result<Json>(Json{{"sets", Json::array()}})
                                                      : base::fail(Errc::BadContent, "nothing was staged");
    GPUHOST_CHECK(content::claim_staging(context.root, staging));
    GPUHOST_TRY(known, content::read_publication(context.root, staging));
    if (!known) {
        GPUHOST_TRY(publication, intend(context, args));
        known = std::move(publication);
    }
    std::vector<std::string> paths;
    for (const auto& [from, to] : known->places) {
        context.progress(-1, "writing to disk");
        GPUHOST_CHECK(content::put_in_place(
            context.root, from, to, [&](const std::string& path) { return is_intact(context.root, path); }));
        paths.push_back(to);
    }
    return Json{{"sets", paths}};
}

Result<void> verify(StepContext& context, const Json&) {
    GPUHOST_TRY(publication, content::read_publication(context.root, staging_of(context)));
    const ToolkitStore store = read_toolkit_store(context.root);
    for (const auto& [from, path] : publication.value_or(Publication()).places)
        if (store.at(path) == nullptr)
            return base::fail(Errc::Failed, path + " is not in the store after publishing it");
    return {};
}

Result<void> undo(StepContext& context, const Json&) {
    return content::withdraw_publication(context.root, staging_of(context), toolkit_directory);
}

} // namespace

core::StepKind toolkit_publish_kind() {
    core::StepKind kind;
    kind.name = "toolkit.publish";
    kind.sandbox = core::Sandbox::Store;
    kind.deadline = std::chrono::minutes(10);
    kind.apply = apply;
    kind.verify = verify;
    kind.undo = undo;
    return kind;
}

ToolkitImportSteps toolkit_import_steps() {
    return {{"toolkit.unpack", "unpack NVIDIA's toolkit, if it is part of the bundle", Json::object()},
            {"toolkit.publish", "store the toolkit, if there is one", Json{{"optional", true}}}};
}

} // namespace gpuhost::runtime
