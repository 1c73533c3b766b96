// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/file_search.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <set>

#include <fnmatch.h>
#include <unistd.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using base::Root;

namespace {

std::string join(const std::string& directory, const std::string& name) {
    return directory == "/" ? "/" + name : directory + "/" + name;
}

} // namespace

Result<std::string> real_path(const Root& root, const std::string& path) {
    GPUHOST_TRY(fd, root.open_file(path, O_PATH));
    std::array<char, PATH_MAX> target{};
    const ssize_t n =
        ::readlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), target.data(), target.size());
    if (n < 0)
        return base::fail_errno(path, errno);
    const std::string outside(target.data(), static_cast<std::size_t>(n));
    if (root.is_host())
        return outside;
    if (outside == root.directory())
        return std::string("/");
    if (!base::starts_with(outside, root.directory() + "/"))
        return base::fail(Errc::NotFound, path + ": moved during the search");
    return outside.substr(root.directory().size());
}

const std::vector<std::string>& FileSearch::names(const std::string& directory) {
    const auto known = names_.find(directory);
    if (known != names_.end())
        return known->second;
    return names_.emplace(directory, root_.list(directory).value_or(std::vector<std::string>()))
        .first->second;
}

std::vector<std::string> FileSearch::files(const std::string& directory, const std::string& pattern) {
    const std::string head = pattern.substr(0, pattern.find_first_of("*?["));
    const std::string tail = pattern.substr(pattern.find_last_of("*?]") + 1); // all if no wildcard
    const std::vector<std::string>& all = names(directory);
    std::vector<std::string> found;
    for (auto name = std::lower_bound(all.begin(), all.end(), head);
         name != all.end() && base::starts_with(*name, head); ++name) {
        if (!base::ends_with(*name, tail) || ::fnmatch(pattern.c_str(), name->c_str(), 0) != 0)
            continue;
        const std::string path = join(directory, *name);
        if (const auto st = root_.stat(path); st && !S_ISDIR(st->st_mode))
            found.push_back(path);
    }
    return found;
}

std::vector<std::string> FileSearch::real_files(const std::vector<std::string>& directories,
                                                const std::string& pattern) {
    std::set<std::string> seen; // /lib is often a link to /usr/lib
    std::vector<std::string> found;
    for (const std::string& directory : directories) {
        const auto real = real_path(root_, directory);
        if (!real || !seen.insert(*real).second)
            continue;
        for (const std::string& file : files(*real, pattern))
            if (auto path = real_path(root_, file); path && seen.insert(*path).second)
                found.push_back(std::move(*path));
    }
    return found;
}

std::optional<std::string> FileSearch::first_file(const std::vector<std::string>& directories,
                                                  const std::string& name, mode_t mode) const {
    for (const std::string& directory : directories) {
        const std::string path = join(directory, name);
        const auto st = root_.stat(path);
        if (st && !S_ISDIR(st->st_mode) && (mode == 0 || (st->st_mode & mode) != 0))
            return path;
    }
    return std::nullopt;
}

} // namespace gpuhost::runtime
