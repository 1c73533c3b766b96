// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/set/publication.hpp"

#include "daemon/base/json.hpp"
#include "daemon/content/archive/tree.hpp"
#include "daemon/content/set/file_list.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::content {

using base::Json;
using base::Result;
using base::Root;
using base::UniqueFd;

namespace {

Result<UniqueFd> open_directory(const Root& root, const std::string& path) {
    return root.open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

std::string intent_path(const std::string& staging) {
    return staging + "/published.json";
}

/// Sets the modification time of a set's manifest to now. If several sets of a store fit, the newest is used.
/// A set that is imported again counts as newest.
Result<void> make_newest(const Root& root, const std::string& path) {
    const std::string file = path + "/" + std::string(manifest_name);
    GPUHOST_TRY(manifest, root.open_file(file, O_RDONLY | O_NOFOLLOW));
    if (::futimens(manifest.get(), nullptr) < 0 || ::fsync(manifest.get()) < 0)
        return base::fail_errno(file, errno);
    return {};
}

} // namespace

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

/// The worker that parsed the input could create a file with this name too. Only a file of this process's
/// user is trusted.
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

Result<Publication> write_publication(const Root& root, const std::string& staging,
                                      std::map<std::string, std::string> places) {
    Publication publication{std::move(places), {}};
    for (const auto& [from, to] : publication.places)
        if (!root.exists(to))
            publication.added.push_back(to);
    const Json value{{"places", publication.places}, {"added", publication.added}};
    GPUHOST_CHECK(root.write_atomic(intent_path(staging), base::dump(value), 0600));
    return publication;
}

Result<void> put_in_place(const Root& root, const std::string& from, const std::string& to,
                          const std::function<bool(const std::string&)>& is_intact) {
    const bool present = root.exists(to);
    if (present && (!root.exists(from) || is_intact(to)))
        return make_newest(root, to);
    GPUHOST_TRY(directory, open_directory(root, from));
    GPUHOST_CHECK(seal_tree(directory.get(), from));
    GPUHOST_CHECK(root.make_directories(to.substr(0, to.rfind('/'))));
    // A new import replaces a damaged set. With an exchange, a set exists at every moment.
    return present ? root.exchange(from, to) : root.rename(from, to);
}

/// Moves each set with one rename. The sets are deleted later, together with the staging directory.
Result<void> withdraw_publication(const Root& root, const std::string& staging, std::string_view store) {
    GPUHOST_TRY(publication, read_publication(root, staging));
    if (!publication)
        return {};
    const std::string aside = staging + "/unpublished";
    GPUHOST_CHECK(root.make_directories(aside));
    for (const std::string& path : publication->added) {
        if (!root.exists(path))
            continue;
        GPUHOST_CHECK(root.rename(path, aside + path.substr(path.rfind('/'))));
        // Remove the directories above, as long as they are empty.
        for (std::string up = path.substr(0, path.rfind('/')); up.size() > store.size();
             up.resize(up.rfind('/')))
            if (!root.remove(up))
                break;
    }
    return {};
}

} // namespace gpuhost::content
