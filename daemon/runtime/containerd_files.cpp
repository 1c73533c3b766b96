// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/containerd_files.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/toml.hpp"

#include <deque>
#include <filesystem>
#include <set>

#include <fnmatch.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Root;

namespace {

constexpr std::size_t most_files = 128;

std::string join(const std::string& directory, const std::string& name) {
    return directory == "/" ? "/" + name : directory + "/" + name;
}

std::vector<std::string> imports_of(const Root& root, const ConfigFile& file, bool before_1_7) {
    const std::filesystem::path directory = std::filesystem::path(file.path).parent_path();
    std::vector<std::string> paths;
    for (const std::string& import : base::strings_or_empty(file.content, "imports")) {
        const bool is_pattern = import.find('*') != std::string::npos; // alone makes one for containerd
        const std::filesystem::path base = is_pattern && before_1_7 ? "/" : directory;
        const std::string path = (base / import).lexically_normal(); // an absolute one stays as it is
        if (!is_pattern)
            paths.push_back(path);
        else
            for (std::string& match : glob(root, path))
                paths.push_back(std::move(match));
    }
    return paths;
}

} // namespace

ConfigFile read_config_file(const Root& root, const std::string& path) {
    ConfigFile file;
    file.path = path;
    const auto text = root.read(path);
    file.exists = text || text.error().code != Errc::NotFound;
    auto content = text ? parse_toml(*text, path) : base::fail(text.error());
    if (content)
        file.content = std::move(*content);
    else
        file.problem = content.error().message;
    return file;
}

std::vector<std::string> glob(const Root& root, const std::string& pattern) {
    std::vector<std::string> paths{"/"};
    for (const std::string& part : base::split(pattern, '/')) {
        if (part.empty())
            continue;
        std::vector<std::string> longer;
        for (const std::string& path : paths)
            if (part.find_first_of("*?[\\") == std::string::npos) {
                longer.push_back(join(path, part));
            } else {
                for (const std::string& name : root.list(path).value_or(std::vector<std::string>()))
                    if (::fnmatch(part.c_str(), name.c_str(), 0) == 0)
                        longer.push_back(join(path, name));
            }
        paths = std::move(longer);
    }
    std::erase_if(paths, [&](const std::string& path) { return !root.exists(path); });
    return paths;
}

std::vector<ConfigFile> read_containerd_files(const Root& root, const std::string& path, bool before_1_7) {
    std::vector<ConfigFile> files;
    std::set<std::string> read;
    std::deque<std::string> pending{path};
    while (!pending.empty() && files.size() < most_files) {
        const std::string next = std::move(pending.front());
        pending.pop_front();
        if (!read.insert(next).second)
            continue;
        ConfigFile file = read_config_file(root, next);
        if (files.empty() && !file.exists)
            file.problem.clear();
        for (std::string& import : imports_of(root, file, before_1_7))
            pending.push_back(std::move(import));
        files.push_back(std::move(file));
    }
    return files;
}

} // namespace gpuhost::runtime
