// SPDX-License-Identifier: Apache-2.0
#include "kmod/publish.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/manifest.hpp"
#include "kmod/step_kind.hpp"
#include "kmod/store.hpp"

#include <algorithm>
#include <cerrno>
#include <map>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using base::UniqueFd;
using core::StepContext;

namespace {

struct StagedSet {
    std::string from; ///< in the staging directory
    std::string to;   ///< its place in the store
    Manifest manifest;
};

Result<UniqueFd> open_directory(const Root& root, const std::string& path) {
    return root.open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

void add_places(const Root& root, const std::string& staging, std::vector<std::string>& places) {
    if (root.exists(staging + "/userland"))
        places.push_back(staging + "/userland");
    for (const char* kind : {"/modules", "/source"})
        if (auto names = root.list(staging + kind))
            for (const std::string& name : *names)
                places.push_back(staging + kind + "/" + name);
}

/// Of one import; and of a bundle each of its drivers in a directory of its own.
std::vector<std::string> staged_places(const Root& root, const std::string& staging) {
    std::vector<std::string> places;
    add_places(root, staging, places);
    const std::string bundled = staging + "/bundled";
    const auto directory = root.lstat(bundled);
    if (!directory || !S_ISDIR(directory->st_mode))
        return places; // none, or a link that the parser left to lead elsewhere
    for (const std::string& name : root.list(bundled).value_or(std::vector<std::string>()))
        add_places(root, bundled + "/" + name, places);
    return places;
}

/// Reads and hashes one staged set; the parser's word is taken for nothing but what the files are for.
Result<StagedSet> read_staged(const Root& root, const std::string& from, const content::OnBytes& on_bytes) {
    GPUHOST_TRY(checked, check_set_at(root, from, on_bytes));
    if (!checked.bad.empty())
        return base::fail(Errc::BadContent,
                          from + " is not what its manifest says: " + base::join(checked.bad, "; "));
    const std::string parent = std::string(store_directory) + "/" + set_place(checked.set.manifest);
    return StagedSet{from, parent + "/" + checked.set.digest, std::move(checked.set.manifest)};
}

// --- what this transaction publishes: for a second run, and for undo

struct Intent {
    std::map<std::string, std::string> places; ///< from → to
    std::vector<std::string> added;            ///< of the latter those where nothing was before
};

std::string intent_path(const StepContext& context) {
    return context.staging + "/published.json";
}

/// The parser could leave a file of this name as well. Only one that we wrote counts.
Result<std::optional<Intent>> read_intent(const StepContext& context) {
    const std::string path = intent_path(context);
    const auto st = context.root.lstat(path);
    if (!st || !S_ISREG(st->st_mode) || st->st_uid != ::geteuid() || st->st_nlink != 1)
        return std::nullopt;
    GPUHOST_TRY(text, context.root.read(path));
    GPUHOST_TRY(value, base::parse_json(text, path));
    GPUHOST_TRY(added, base::get_strings(value, "added"));
    Intent intent{{}, std::move(added)};
    const Json& places = base::member(value, "places");
    for (const auto& [from, to] : places.items())
        intent.places.emplace(from, to.is_string() ? to.get<std::string>() : std::string());
    return std::optional(std::move(intent));
}

/// Written before the first rename: from then on what is in place may be ours.
Result<Intent> write_intent(const StepContext& context, const std::vector<StagedSet>& sets) {
    Intent intent;
    for (const StagedSet& set : sets) {
        intent.places.emplace(set.from, set.to);
        if (!context.root.exists(set.to))
            intent.added.push_back(set.to);
    }
    const Json value{{"places", intent.places}, {"added", intent.added}};
    GPUHOST_CHECK(context.root.write_atomic(intent_path(context), base::dump(value), 0600));
    return intent;
}

// --- phases

/// From here on nobody but root writes in the staging directory: the parser's worker is gone with its whole
/// cgroup.
Result<void> take_over(const StepContext& context) {
    GPUHOST_TRY(directory, open_directory(context.root, context.staging));
    const bool root = ::geteuid() == 0;
    if ((root && ::fchown(directory.get(), 0, 0) < 0) || ::fchmod(directory.get(), 0700) < 0)
        return base::fail_errno(context.staging, errno);
    const auto intent = context.root.lstat(intent_path(context));
    if (intent && intent->st_uid != ::geteuid())
        return context.root.remove(intent_path(context));
    return {};
}

/// What was asked for must be among what the workers left.
Result<void> check_wanted(const std::vector<StagedSet>& sets, const Json& args) {
    const std::string version = base::string_or(args, "version", {});
    for (const StagedSet& set : sets)
        if (!version.empty() && set.manifest.version != version)
            return base::fail(Errc::BadContent,
                              "version " + set.manifest.version + " was made, expected " + version);
    for (const std::string& kernel : base::strings_or_empty(args, "kernels"))
        if (std::none_of(sets.begin(), sets.end(),
                         [&](const auto& set) { return set.manifest.kernel == kernel; }))
            return base::fail(Errc::BadContent, "no modules for kernel " + kernel + " were made");
    if (sets.empty() && !base::bool_or(args, "optional", false))
        return base::fail(Errc::BadContent, "nothing was staged");
    return {};
}

bool intact(const Root& root, const std::string& path) {
    const auto checked = check_set_at(root, path);
    return checked && checked->bad.empty();
}

/// The newest set is the one that a swap takes, and what was imported last is the newest, also where it was in the
/// store before.
Result<void> make_newest(const Root& root, const std::string& path) {
    const std::string file = path + "/" + std::string(manifest_name);
    GPUHOST_TRY(manifest, root.open_file(file, O_RDONLY | O_NOFOLLOW));
    if (::futimens(manifest.get(), nullptr) < 0 || ::fsync(manifest.get()) < 0)
        return base::fail_errno(file, errno);
    return {};
}

/// Ends in the same state wherever a run before it was interrupted.
Result<void> put_in_place(const Root& root, const std::string& from, const std::string& to) {
    const bool present = root.exists(to);
    if (present && (!root.exists(from) || intact(root, to)))
        return make_newest(root, to);
    GPUHOST_TRY(directory, open_directory(root, from));
    GPUHOST_CHECK(content::seal_tree(directory.get(), from));
    GPUHOST_CHECK(root.make_directories(to.substr(0, to.rfind('/'))));
    // A damaged set is mended by bringing it in again; the exchange leaves no moment without one.
    return present ? root.exchange(from, to) : root.rename(from, to);
}

/// Hashes all that was staged and says where it goes.
Result<Intent> check_staged(const StepContext& context, const Json& args) {
    std::vector<StagedSet> sets;
    std::uint64_t hashed = 0;
    for (const std::string& place : staged_places(context.root, context.staging)) {
        GPUHOST_TRY(set, read_staged(context.root, place, [&](std::uint64_t n) {
                        hashed += n;
                        context.progress(-1, "checking " + std::to_string(hashed >> 20U) + " MiB");
                    }));
        sets.push_back(std::move(set));
    }
    GPUHOST_CHECK(check_wanted(sets, args));
    return write_intent(context, sets);
}

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_CHECK(take_over(context));
    // A run before this one that came as far as its intent had checked everything, and since then it is ours.
    GPUHOST_TRY(known, read_intent(context));
    if (!known) {
        GPUHOST_TRY(intent, check_staged(context, args));
        known = std::move(intent);
    }
    std::vector<std::string> paths;
    for (const auto& [from, to] : known->places) {
        context.progress(-1, "writing to disk");
        GPUHOST_CHECK(put_in_place(context.root, from, to));
        paths.push_back(to);
    }
    return Json{{"sets", paths}};
}

Result<void> verify(StepContext& context, const Json&) {
    GPUHOST_TRY(intent, read_intent(context));
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
    for (const auto& [from, path] : intent.value_or(Intent{}).places)
        if (std::find(present.begin(), present.end(), path) == present.end())
            return base::fail(Errc::Failed, path + " is not in the store after publishing it");
    return {};
}

/// A whole set goes in one rename; it is deleted with the staging directory.
Result<void> undo(StepContext& context, const Json&) {
    const Root& root = context.root;
    GPUHOST_TRY(intent, read_intent(context));
    if (!intent)
        return {};
    const std::string aside = context.staging + "/unpublished";
    GPUHOST_CHECK(root.make_directories(aside));
    for (const std::string& path : intent->added) {
        if (!root.exists(path))
            continue;
        GPUHOST_CHECK(root.rename(path, aside + path.substr(path.rfind('/'))));
        // The directories above, as far as nothing else is in them.
        for (std::string up = path.substr(0, path.rfind('/')); up.size() > store_directory.size();
             up.resize(up.rfind('/')))
            if (!root.remove(up))
                break;
    }
    return {};
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
