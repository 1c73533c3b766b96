// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/set/file_list.hpp"

#include "daemon/base/json.hpp"
#include "daemon/content/archive/archive.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <cerrno>
#include <map>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::content {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t manifest_limit = std::size_t{4} << 20U;

Json to_json(const TreeFile& file) {
    if (!file.target.empty())
        return Json{{"path", file.path}, {"target", file.target}};
    return Json{{"path", file.path},
                {"mode", file.executable ? "0555" : "0444"},
                {"size", file.size},
                {"sha256", file.sha256}};
}

Result<TreeFile> file_from_json(const Json& value) {
    TreeFile file;
    GPUHOST_TRY(path, base::get_string(value, "path"));
    const auto safe = safe_relative_path(path);
    if (path.empty() || !safe || *safe != path || path == manifest_name)
        return base::fail(Errc::BadContent, "a file's path is not valid: '" + path + "'");
    file.path = path;
    file.target = base::string_or(value, "target", {});
    if (!file.target.empty()) {
        if (!link_stays_inside(file.path, file.target))
            return base::fail(Errc::BadContent, "link '" + file.path + "' points outside");
        return file;
    }
    GPUHOST_TRY(mode, base::get_string(value, "mode"));
    GPUHOST_TRY(size, base::get_int(value, "size"));
    GPUHOST_TRY(digest, base::get_string(value, "sha256"));
    if ((mode != "0444" && mode != "0555") || size < 0 || !is_sha256(digest))
        return base::fail(Errc::BadContent, "file '" + path + "' has an invalid mode, size or digest");
    file.executable = mode == "0555";
    file.size = static_cast<std::uint64_t>(size);
    file.sha256 = std::move(digest);
    return file;
}

std::string difference(const TreeFile& wanted, const TreeFile& found) {
    if (!wanted.target.empty() || !found.target.empty())
        return wanted.path + ": link to '" + found.target + "', expected '" + wanted.target + "'";
    if (wanted.size != found.size)
        return wanted.path + ": size mismatch (manifest: " + std::to_string(wanted.size) +
               ", found: " + std::to_string(found.size) + ")";
    if (wanted.sha256 != found.sha256)
        return wanted.path + ": digest mismatch";
    return wanted.path + ": mode differs";
}

} // namespace

Json to_json(const std::vector<TreeFile>& files) {
    Json array = Json::array();
    for (const TreeFile& file : files)
        array.push_back(to_json(file));
    return array;
}

Result<std::vector<TreeFile>> files_from_json(const Json& array) {
    std::vector<TreeFile> files;
    for (const Json& item : array) {
        GPUHOST_TRY(file, file_from_json(item));
        files.push_back(std::move(file));
    }
    return files;
}

Result<OpenSet> open_set(const base::Root& root, const std::string& path) {
    OpenSet set;
    set.path = path;
    GPUHOST_TRY(directory, root.open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    const base::UniqueFd fd(::openat(directory.get(), std::string(manifest_name).c_str(),
                                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) < 0)
        return base::fail_errno(set.file(), errno);
    GPUHOST_TRY(text, base::read_all(fd.get(), manifest_limit, set.file()));
    set.digest = sha256(text);
    const std::string own_name = path.substr(path.rfind('/') + 1);
    if (is_sha256(own_name) && own_name != set.digest)
        return base::fail(Errc::BadContent, set.file() + ": digest mismatch");
    set.directory = std::move(directory);
    set.manifest = std::move(text);
    set.published_us = std::int64_t{st.st_mtim.tv_sec} * 1'000'000 + st.st_mtim.tv_nsec / 1000;
    return set;
}

Result<std::vector<std::string>> changed_files(const OpenSet& set, const OnBytes& on_bytes) {
    GPUHOST_TRY(value, base::parse_json(set.manifest, set.file()));
    const auto listed = files_from_json(base::member(value, "files"));
    if (!listed)
        return base::fail(listed.error().context(set.file()));
    GPUHOST_TRY(found, hash_tree(set.directory.get(), set.path, on_bytes));
    std::map<std::string, TreeFile> left;
    for (TreeFile& file : found)
        if (file.path != manifest_name)
            left.emplace(file.path, std::move(file));
    std::vector<std::string> bad;
    for (const TreeFile& wanted : *listed) {
        const auto file = left.find(wanted.path);
        if (file == left.end()) {
            bad.push_back(wanted.path + ": is missing");
            continue;
        }
        if (file->second != wanted)
            bad.push_back(difference(wanted, file->second));
        left.erase(file);
    }
    for (const auto& [path, file] : left)
        bad.push_back(path + ": is not in the manifest");
    return bad;
}

Result<std::vector<std::string>> check_set(const base::Root& root, const std::string& path,
                                           const OnBytes& on_bytes) {
    GPUHOST_TRY(set, open_set(root, path));
    return changed_files(set, on_bytes);
}

} // namespace gpuhost::content
