// SPDX-License-Identifier: Apache-2.0
#include "images/store/link_tree.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/archive/archive.hpp"
#include "images/store/blob_store.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Result;
using base::Root;

namespace {

constexpr std::size_t longest_path = 1024;
constexpr std::ptrdiff_t most_nesting = 32;

using Files = std::vector<const LinkedFile*>;

std::string parent_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

/// Creates links in one directory, all to blobs in the store. They are relative, so that they stay valid if
/// the host's root is mounted elsewhere.
Result<void> make_links(const Root& root, const std::string& directory, const Files& files) {
    GPUHOST_CHECK(root.make_directories(directory));
    GPUHOST_TRY(fd, root.open_file(directory, O_RDONLY | O_DIRECTORY));
    const std::string store = std::filesystem::path(blobs_directory).lexically_relative(directory).string();
    for (const LinkedFile* const file : files) {
        const std::string name = file->name.substr(file->name.rfind('/') + 1);
        if (::symlinkat((store + "/" + file->hex).c_str(), fd.get(), name.c_str()) < 0)
            return base::fail_errno(directory + "/" + name, errno);
    }
    return {};
}

} // namespace

std::vector<std::string> names_in(const LinkTree& tree) {
    std::vector<std::string> names;
    for (const LinkedFile& file : tree.files)
        names.push_back(file.name);
    return names;
}

bool is_path_in_tree(const std::string& name) {
    return content::safe_relative_path(name) == name && name.size() <= longest_path && !name.empty() &&
           std::count(name.begin(), name.end(), '/') < most_nesting;
}

std::string file_and_directory(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        const auto below = std::lower_bound(names.begin(), names.end(), name + "/");
        if (below != names.end() && base::starts_with(*below, name + "/"))
            return name;
    }
    return {};
}

Result<void> make_link_tree(const Root& root, const std::string& directory,
                            const std::vector<LinkedFile>& files) {
    std::map<std::string, Files> by_directory;
    std::set<std::string> all{directory};
    for (const LinkedFile& file : files)
        by_directory[parent_of(directory + "/" + file.name)].push_back(&file);
    for (const auto& [place, here] : by_directory) {
        GPUHOST_CHECK(make_links(root, place, here));
        for (std::string above = place; all.insert(above).second;)
            above = parent_of(above);
    }
    for (const std::string& made : all)
        GPUHOST_CHECK(root.sync_directory(made));
    return {};
}

} // namespace gpuhost::images
