// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/set/publication.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/archive/tree.hpp"
#include "daemon/content/set/removal.hpp"

#include <cerrno>
#include <functional>
#include <map>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::content {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using base::UniqueFd;
using core::StepContext;

namespace {

using Places = std::map<std::string, std::string>;

/// The record of the planned moves, in the staging directory.
struct Publication {
    Places places;                  ///< path in the staging directory → path in the store
    std::vector<std::string> added; ///< paths in the store at which nothing existed before
};

Result<UniqueFd> open_directory(const Root& root, const std::string& path) {
    return root.open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

std::string intent_path(const std::string& staging) {
    return staging + "/published.json";
}

/// Sets the modification time of a set's manifest to now. If several sets of a store fit, the newest is used.
/// A set that is imported again therefore counts as the newest.
Result<void> make_newest(const Root& root, const std::string& path) {
    const std::string file = path + "/" + std::string(manifest_name);
    GPUHOST_TRY(manifest, root.open_file(file, O_RDONLY | O_NOFOLLOW));
    if (::futimens(manifest.get(), nullptr) < 0 || ::fsync(manifest.get()) < 0)
        return base::fail_errno(file, errno);
    return {};
}

/// Gives the staging directory to root, and denies access to others. Before the call, the worker that parsed
/// the input has ended with its whole cgroup.
Result<void> claim_staging(const Root& root, const std::string& staging) {
    GPUHOST_TRY(directory, open_directory(root, staging));
    const bool is_root = ::geteuid() == 0;
    if ((is_root && ::fchown(directory.get(), 0, 0) < 0) || ::fchmod(directory.get(), 0700) < 0)
        return base::fail_errno(staging, errno);
    const auto intent = root.lstat(intent_path(staging));
    if (intent && intent->st_uid != ::geteuid())
        return root.remove(intent_path(staging));
    return {};
}

/// Returns the record that an earlier run wrote with write_publication(). Returns nullopt if there is none;
/// no set was then moved. The worker that parsed the input could also create a file with the record's name,
/// so only a file of this process's user is trusted.
Result<std::optional<Publication>> read_publication(const Root& root, const std::string& staging) {
    const std::string path = intent_path(staging);
    const auto st = root.lstat(path);
    if (!st || !S_ISREG(st->st_mode) || st->st_uid != ::geteuid() || st->st_nlink != 1)
        return std::nullopt;
    GPUHOST_TRY(text, root.read(path));
    GPUHOST_TRY(value, base::parse_json(text, path));
    GPUHOST_TRY(added, base::get_strings(value, "added"));
    Publication publication{{}, std::move(added)};
    const Json& places = base::member(value, "places");
    for (const auto& [from, to] : places.items())
        publication.places.emplace(from, to.is_string() ? to.get<std::string>() : std::string());
    return std::optional(std::move(publication));
}

/// Records the planned moves durably. Runs before the first move. An undo reads in the record which sets in
/// the store this transaction may have added.
Result<void> write_publication(const Root& root, const std::string& staging, const Places& places) {
    std::vector<std::string> added;
    for (const auto& [from, to] : places)
        if (!root.exists(to))
            added.push_back(to);
    return root.write_atomic(intent_path(staging), base::dump({{"places", places}, {"added", added}}), 0600);
}

/// Seals the set at `from` and moves it to `to`. Gives the same result if repeated after an interruption.
Result<void> put_in_place(const Root& root, const std::string& from, const std::string& to) {
    const bool present = root.exists(to);
    const auto bad = present && root.exists(from) ? check_set(root, to) : std::vector<std::string>();
    if (present && bad && bad->empty())
        return make_newest(root, to);
    GPUHOST_TRY(directory, open_directory(root, from));
    GPUHOST_CHECK(seal_tree(directory.get(), from));
    GPUHOST_CHECK(root.make_directories(to.substr(0, to.rfind('/'))));
    // A new import replaces a damaged set. With an exchange, a set exists at every moment.
    return present ? root.exchange(from, to) : root.rename(from, to);
}

/// Adds the directories below `directory` that match `pattern` to `found`. Fails with BadContent if a file on
/// the way is not a directory: the untrusted parser may have created a link to another place. Ignores
/// temporary files of an interrupted write_publication().
Result<void> find_staged(const Root& root, const std::string& directory, std::string_view pattern,
                         std::vector<std::string>& found) {
    const auto st = root.lstat(directory);
    if (!st)
        return {};
    if (!S_ISDIR(st->st_mode))
        return base::fail(Errc::BadContent, "'" + directory + "' is not a directory");
    if (pattern.empty()) {
        found.push_back(directory);
        return {};
    }
    const std::string part(pattern.substr(1, pattern.find('/', 1) - 1));
    std::vector<std::string> names{part};
    if (part == "*") {
        GPUHOST_TRY(listed, root.list(directory));
        names = std::move(listed);
    }
    for (const std::string& name : names)
        if (!base::ends_with(name, ".tmp"))
            GPUHOST_CHECK(find_staged(root, directory + "/" + name, pattern.substr(1 + part.size()), found));
    return {};
}

/// Compares all staged sets with their manifests. Returns their places in the store.
Result<Places> check_staged(const Publishing& publishing, const StepContext& context, const Json& args,
                            const std::string& staging) {
    std::vector<std::string> paths;
    for (const std::string_view pattern : publishing.patterns)
        GPUHOST_CHECK(find_staged(context.root, staging, pattern, paths));
    std::vector<OpenSet> sets;
    std::uint64_t hashed = 0;
    for (const std::string& path : paths) {
        GPUHOST_TRY(set, open_set(context.root, path));
        GPUHOST_TRY(bad, changed_files(set, [&](std::uint64_t n) {
                        hashed += n;
                        context.progress(-1, "checking " + std::to_string(hashed >> 20U) + " MiB");
                    }));
        if (!bad.empty())
            return base::fail(Errc::BadContent,
                              path + " does not match its manifest: " + base::join(bad, "; "));
        set.directory = {}; // a transaction may stage more sets than a process may have descriptors
        sets.push_back(std::move(set));
    }
    GPUHOST_TRY(parents, publishing.parents(sets, args));
    if (sets.empty() && !base::bool_or(args, "optional", false))
        return base::fail(Errc::BadContent, "nothing was staged");
    Places places;
    for (std::size_t i = 0; i < sets.size(); ++i)
        places.emplace(paths[i], std::string(publishing.store) + "/" + parents[i] + "/" + sets[i].digest);
    return places;
}

std::string staging_of(const Publishing& publishing, const StepContext& context) {
    return context.staging + std::string(publishing.staged);
}

/// Continues from the record of an interrupted run, if there is one. The interrupted run has checked the
/// sets, and the sets have belonged to root since.
Result<Json> apply(const Publishing& publishing, StepContext& context, const Json& args) {
    const std::string staging = staging_of(publishing, context);
    if (context.root.exists(staging))
        GPUHOST_CHECK(claim_staging(context.root, staging));
    GPUHOST_TRY(known, read_publication(context.root, staging));
    if (!known) {
        GPUHOST_TRY(places, check_staged(publishing, context, args, staging));
        known = Publication{std::move(places), {}};
        if (!known->places.empty())
            GPUHOST_CHECK(write_publication(context.root, staging, known->places));
    }
    std::vector<std::string> paths;
    for (const auto& [from, to] : known->places) {
        context.progress(-1, "writing to disk");
        GPUHOST_CHECK(put_in_place(context.root, from, to));
        paths.push_back(to);
    }
    return Json{{"sets", paths}};
}

/// The name of a set's directory is the digest of a manifest that apply has checked.
Result<void> verify(const Publishing& publishing, const StepContext& context, const Json&) {
    GPUHOST_TRY(publication, read_publication(context.root, staging_of(publishing, context)));
    for (const auto& [from, path] : publication.value_or(Publication()).places)
        if (!open_set(context.root, path))
            return base::fail(Errc::Failed, path + " is not in the store after publishing it");
    return {};
}

/// Moves each added set back with one rename. The sets are deleted later, with the staging directory.
Result<void> undo(const Publishing& publishing, const StepContext& context, const Json&) {
    const std::string staging = staging_of(publishing, context);
    GPUHOST_TRY(publication, read_publication(context.root, staging));
    if (!publication)
        return {};
    const std::string aside = staging + "/unpublished";
    GPUHOST_CHECK(context.root.make_directories(aside));
    for (const std::string& path : publication->added) {
        if (!context.root.exists(path))
            continue;
        GPUHOST_CHECK(context.root.rename(path, aside + path.substr(path.rfind('/'))));
        GPUHOST_CHECK(remove_empty(context.root, path.substr(0, path.rfind('/')), publishing.store));
    }
    return {};
}

} // namespace

core::StepCode publish_code(std::string name, const Publishing& publishing) {
    return {.name = std::move(name),
            .apply = std::bind_front(apply, publishing),
            .verify = std::bind_front(verify, publishing),
            .undo = std::bind_front(undo, publishing)};
}

} // namespace gpuhost::content
