// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/publish.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/set/publication.hpp"
#include "kmod/step_kind.hpp"
#include "kmod/store/manifest.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>
#include <map>

#include <sys/stat.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using content::Publication;
using core::StepContext;

namespace {

struct StagedSet {
    std::string from; ///< its path in the staging directory
    std::string to;   ///< its future path in the store
    Manifest manifest;
};

/// Returns whether the directory exists. Fails with BadContent if the path is not a directory: the untrusted
/// parser may have created a link to another place.
Result<bool> is_staged(const Root& root, const std::string& path) {
    const auto st = root.lstat(path);
    if (st && !S_ISDIR(st->st_mode))
        return base::fail(Errc::BadContent, "'" + path + "' is not a directory");
    return st.has_value();
}

/// Returns the paths of the directories in `directory`; empty if it does not exist. Fails with BadContent if
/// it contains anything else.
Result<std::vector<std::string>> staged_in(const Root& root, const std::string& directory) {
    std::vector<std::string> paths;
    GPUHOST_TRY(staged, is_staged(root, directory));
    if (!staged)
        return paths;
    GPUHOST_TRY(names, root.list(directory));
    for (const std::string& name : names) {
        paths.push_back(directory + "/" + name);
        GPUHOST_CHECK(is_staged(root, paths.back()));
    }
    return paths;
}

Result<void> add_places(const Root& root, const std::string& staging, std::vector<std::string>& places) {
    GPUHOST_TRY(has_userland, is_staged(root, staging + "/userland"));
    if (has_userland)
        places.push_back(staging + "/userland");
    for (const char* kind : {"/modules", "/source"}) {
        GPUHOST_TRY(sets, staged_in(root, staging + kind));
        places.insert(places.end(), sets.begin(), sets.end());
    }
    return {};
}

/// Returns the paths of all staged sets: those of an import, and those of drivers of a bundle, in
/// subdirectories of bundled/.
Result<std::vector<std::string>> staged_places(const Root& root, const std::string& staging) {
    std::vector<std::string> places;
    GPUHOST_CHECK(add_places(root, staging, places));
    GPUHOST_TRY(drivers, staged_in(root, staging + "/bundled"));
    for (const std::string& driver : drivers)
        GPUHOST_CHECK(add_places(root, driver, places));
    return places;
}

/// Reads one staged set and compares all its files with its manifest. The parser's manifest is trusted only
/// for what each file is.
Result<StagedSet> read_staged(const Root& root, const std::string& from, const content::OnBytes& on_bytes) {
    GPUHOST_TRY(checked, check_set_at(root, from, on_bytes));
    if (!checked.bad.empty())
        return base::fail(Errc::BadContent,
                          from + " does not match its manifest: " + base::join(checked.bad, "; "));
    const std::string parent = std::string(store_directory) + "/" + set_place(checked.set.manifest);
    return StagedSet{from, parent + "/" + checked.set.digest, std::move(checked.set.manifest)};
}

// --- phases

/// Fails if the staged sets are not those that the args require.
Result<void> check_wanted(const std::vector<StagedSet>& sets, const Json& args) {
    const std::string version = base::string_or(args, "version", {});
    const auto protect = base::strings_or_empty(args, "protect");
    for (const StagedSet& set : sets)
        if (std::find(protect.begin(), protect.end(), set.manifest.version) != protect.end())
            return base::fail(
                Errc::AccessDenied,
                "driver " + set.manifest.version +
                    " is configured, loaded or selected, but the file names contain another version",
                "Import it as root: sudo gpuhostctl driver import FILE….");
    for (const StagedSet& set : sets)
        if (!version.empty() && set.manifest.version != version)
            return base::fail(Errc::BadContent,
                              "version " + set.manifest.version + " was staged, expected " + version);
    for (const std::string& kernel : base::strings_or_empty(args, "kernels"))
        if (std::none_of(sets.begin(), sets.end(),
                         [&](const auto& set) { return set.manifest.kernel == kernel; }))
            return base::fail(Errc::BadContent, "no modules for kernel " + kernel + " were staged");
    if (sets.empty() && !base::bool_or(args, "optional", false))
        return base::fail(Errc::BadContent, "nothing was staged");
    return {};
}

bool intact(const Root& root, const std::string& path) {
    const auto checked = check_set_at(root, path);
    return checked && checked->bad.empty();
}

/// Checks all staged sets, and records (durably) where each is moved in the store. An interrupted apply
/// continues from this record.
Result<Publication> check_staged(const StepContext& context, const Json& args) {
    std::vector<StagedSet> sets;
    std::uint64_t hashed = 0;
    GPUHOST_TRY(staged, staged_places(context.root, context.staging));
    for (const std::string& place : staged) {
        GPUHOST_TRY(set, read_staged(context.root, place, [&](std::uint64_t n) {
                        hashed += n;
                        context.progress(-1, "checking " + std::to_string(hashed >> 20U) + " MiB");
                    }));
        sets.push_back(std::move(set));
    }
    GPUHOST_CHECK(check_wanted(sets, args));
    std::map<std::string, std::string> places;
    for (const StagedSet& set : sets)
        places.emplace(set.from, set.to);
    return content::write_publication(context.root, context.staging, std::move(places));
}

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_CHECK(content::claim_staging(context.root, context.staging));
    // If an interrupted run has left that record, it has checked everything. The staged files belong to root
    // since then, so they are not checked again.
    GPUHOST_TRY(known, content::read_publication(context.root, context.staging));
    if (!known) {
        GPUHOST_TRY(publication, check_staged(context, args));
        known = std::move(publication);
    }
    const auto is_intact = [&](const std::string& path) { return intact(context.root, path); };
    std::vector<std::string> paths;
    for (const auto& [from, to] : known->places) {
        context.progress(-1, "writing to disk");
        GPUHOST_CHECK(content::put_in_place(context.root, from, to, is_intact));
        paths.push_back(to);
    }
    return Json{{"sets", paths}};
}

Result<void> verify(StepContext& context, const Json&) {
    GPUHOST_TRY(publication, content::read_publication(context.root, context.staging));
    GPUHOST_TRY(store, read_store(context.root));
    std::vector<std::string> present;
    for (const DriverVersion& version : store.versions) {
        for (const auto& set : version.userland)
            present.push_back(set.path);
        for (const auto& set : version.modules)
            present.push_back(set.path);
        for (const auto& set : version.sources)
            present.push_back(set.path);
    }
    for (const auto& [from, path] : publication.value_or(Publication()).places)
        if (std::find(present.begin(), present.end(), path) == present.end())
            return base::fail(Errc::Failed, path + " is not in the store after publishing it");
    return {};
}

Result<void> undo(StepContext& context, const Json&) {
    return content::withdraw_publication(context.root, context.staging, store_directory);
}

} // namespace

core::StepKind store_publish_kind() {
    core::StepKind kind;
    kind.name = "store.publish";
    kind.sandbox = core::Sandbox::Store;
    kind.deadline = std::chrono::minutes(15);
    kind.apply = apply;
    kind.verify = verify;
    kind.undo = undo;
    return kind;
}

} // namespace gpuhost::kmod
