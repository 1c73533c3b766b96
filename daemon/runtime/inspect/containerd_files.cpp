// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/containerd_files.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/toml/toml.hpp"

#include <deque>
#include <filesystem>
#include <set>

#include <fnmatch.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Root;

namespace {

std::string join(const std::string& directory, const std::string& name) {
    return directory == "/" ? "/" + name : directory + "/" + name;
}

constexpr std::size_t most_matches = 1024;
constexpr std::size_t most_names = 1U << 16U;

/// Returns the paths that a file imports. If some of the paths can't be determined, adds an entry with a
/// problem to `files`.
std::vector<std::string> imports_of(const Root& root, const ConfigFile& file, bool before_1_7,
                                    std::vector<ConfigFile>& files) {
    const std::filesystem::path directory = std::filesystem::path(file.path).parent_path();
    std::vector<std::string> paths;
    std::size_t patterns = 0;
    for (const std::string& import : base::strings_or_empty(file.content, "imports")) {
        // containerd treats only "*" as a pattern.
        const bool is_pattern = import.find('*') != std::string::npos;
        const std::filesystem::path base = is_pattern && before_1_7 ? "/" : directory;
        const std::string path = (base / import).lexically_normal(); // an absolute path stays unchanged
        if (!is_pattern) {
            paths.push_back(path);
            continue;
        }
        if (++patterns > most_config_files) {
            files.push_back(unread(path, "more than 128 patterns, the rest is not read"));
            break;
        }
        Matches matches = glob(root, path);
        if (matches.is_cut)
            files.push_back(unread(path, "matches too many files, some are not read"));
        if (matches.is_secret)
            files.push_back(unreadable(path));
        for (std::string& match : matches.paths)
            paths.push_back(std::move(match));
    }
    return paths;
}

} // namespace

Matches glob(const Root& root, const std::string& pattern) {
    Matches matches{{"/"}};
    std::size_t names = 0;
    for (const std::string& part : base::split(pattern, '/')) {
        if (part.empty())
            continue;
        std::vector<std::string> longer;
        for (const std::string& path : matches.paths) {
            if (part.find_first_of("*?[\\") == std::string::npos) {
                longer.push_back(join(path, part));
                continue;
            }
            const auto list = root.list(path);
            if (!list) {
                matches.is_secret = matches.is_secret || list.error().code == Errc::AccessDenied;
                continue;
            }
            for (const std::string& name : *list) {
                matches.is_cut = matches.is_cut || ++names > most_names || longer.size() >= most_matches;
                if (matches.is_cut)
                    break;
                if (::fnmatch(part.c_str(), name.c_str(), 0) == 0)
                    longer.push_back(join(path, name));
            }
        }
        matches.paths = std::move(longer);
    }
    std::erase_if(matches.paths, [&](const std::string& path) { return !root.exists(path); });
    return matches;
}

std::vector<ConfigFile> read_containerd_files(const Root& root, const std::string& path, bool before_1_7) {
    std::vector<ConfigFile> files;
    std::set<std::string> read;
    std::deque<std::string> pending{path};
    while (!pending.empty()) {
        const std::string next = std::move(pending.front());
        pending.pop_front();
        if (!read.insert(next).second)
            continue;
        if (files.size() >= most_config_files) {
            files.push_back(unread(next, "more than 128 files, the rest is not read"));
            break;
        }
        ConfigFile file = read_config_file(root, next, parse_toml);
        if (files.empty() && !file.exists)
            file.problem.clear();
        files.push_back(file);
        for (std::string& import : imports_of(root, file, before_1_7, files))
            pending.push_back(std::move(import));
    }
    return files;
}

} // namespace gpuhost::runtime
