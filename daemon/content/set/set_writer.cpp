// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/set/set_writer.hpp"

#include "daemon/content/set/file_list.hpp"

#include <algorithm>

#include <fcntl.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;
using base::UniqueFd;

Result<SetWriter> SetWriter::create(const base::Root& staging, std::string place) {
    GPUHOST_CHECK(staging.remove_tree(place));
    GPUHOST_CHECK(staging.make_directories(place));
    return SetWriter(staging, std::move(place));
}

Result<void> SetWriter::make_parent(const std::string& path) const {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? Result<void>()
                                      : staging_->make_directories(place_ + "/" + path.substr(0, slash));
}

Result<void> SetWriter::add(const std::string& path, bool executable, ArchiveReader& archive,
                            const OnBytes& on_bytes) {
    if (has(path))
        return base::fail(Errc::BadContent, "two packages contain '" + path + "'", "Leave one of them out.");
    GPUHOST_CHECK(make_parent(path));
    GPUHOST_TRY(fd, staging_->open_file(place_ + "/" + path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                                        executable ? 0755 : 0644));
    GPUHOST_TRY(written, archive.copy_to(fd.get(), on_bytes));
    // Starts writing to disk while the next member is unpacked. seal_tree() waits for the end, and reports
    // errors.
    (void)::sync_file_range(fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    files_.push_back({path, {}, executable, written.size, std::move(written.sha256)});
    return {};
}

Result<void> SetWriter::adopt(const std::string& temporary, const std::string& path,
                              const FileDigest& digest) {
    if (has(path))
        return base::fail(Errc::BadContent, "two files have the path '" + path + "'",
                          "Leave one of them out.");
    GPUHOST_CHECK(staging_->rename(place_ + "/" + temporary, place_ + "/" + path));
    files_.push_back({path, {}, false, digest.size, digest.sha256});
    return {};
}

Result<void> SetWriter::add_link(const std::string& path, const std::string& target) {
    GPUHOST_CHECK(make_parent(path));
    GPUHOST_CHECK(staging_->symlink_atomic(target, place_ + "/" + path));
    files_.push_back({path, target, false, 0, {}});
    return {};
}

bool SetWriter::has(std::string_view path) const {
    return std::any_of(files_.begin(), files_.end(), [path](const auto& file) { return file.path == path; });
}

Result<UniqueFd> SetWriter::open(const std::string& path) const {
    return staging_->open_file(place_ + "/" + path, O_RDONLY | O_NOFOLLOW);
}

Result<void> SetWriter::finish(const std::function<std::string(const std::vector<TreeFile>&)>& encode) {
    std::sort(files_.begin(), files_.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return staging_->write_atomic(place_ + "/" + std::string(manifest_name), encode(files_));
}

} // namespace gpuhost::content
