// SPDX-License-Identifier: Apache-2.0
#include "images/package_links.hpp"

#include "images/blob_store.hpp"

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

using Files = std::vector<const PackageFile*>;

std::string parent_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

/// Relative, so that they lead to the same place where the host's root is mounted elsewhere.
Result<void> make_links(const Root& root, const std::string& directory, const Files& files) {
    GPUHOST_CHECK(root.make_directories(directory));
    GPUHOST_TRY(fd, root.open_file(directory, O_RDONLY | O_DIRECTORY));
    const std::string store = std::filesystem::path(blobs_directory).lexically_relative(directory).string();
    for (const PackageFile* const file : files) {
        const std::string name = file->name.substr(file->name.rfind('/') + 1);
        if (::symlinkat((store + "/" + file->hex).c_str(), fd.get(), name.c_str()) < 0)
            return base::fail_errno(directory + "/" + name, errno);
    }
    return {};
}

} // namespace

Result<void> make_package_links(const Root& root, const std::string& directory,
                                const std::vector<PackageFile>& files) {
    std::map<std::string, Files> by_directory;
    std::set<std::string> all{directory};
    for (const PackageFile& file : files)
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
