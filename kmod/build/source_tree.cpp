// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/content/archive/tree.hpp"
#include "daemon/content/package/package.hpp"
#include "kmod/build/kernel_build.hpp"

#include <fcntl.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Result;
using content::ArchiveEntry;

namespace {

/// Returns `path` relative to `directory`; nothing for a path outside of it.
std::optional<std::string> below(const std::string& path, const std::string& directory) {
    if (!base::starts_with(path, directory + "/"))
        return std::nullopt;
    return path.substr(directory.size() + 1);
}

Result<void> unpack_one(const ArchiveEntry& entry, const std::string& path, const std::string& inside,
                        content::Package& source, const base::Root& staging) {
    if (entry.type == ArchiveEntry::Type::Directory)
        return staging.make_directories(path);
    GPUHOST_CHECK(staging.make_directories(path.substr(0, path.rfind('/'))));
    if (entry.type == ArchiveEntry::Type::SymbolicLink) {
        if (!content::link_stays_inside(inside, entry.target))
            return base::fail(Errc::BadContent,
                              "'" + entry.path + "' is a link to a path outside the source");
        return staging.symlink_atomic(entry.target, path);
    }
    if (entry.type != ArchiveEntry::Type::File)
        return base::fail(Errc::Unsupported, "'" + entry.path + "' is a hard link");
    const mode_t mode = (entry.mode & 0111U) != 0 ? 0755 : 0644;
    GPUHOST_TRY(fd, staging.open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    GPUHOST_CHECK(source.data().copy_to(fd.get()));
    return {};
}

} // namespace

Result<SourceTree> unpack_source(int fd, const std::string& package, const std::string& directory,
                                 const base::Root& staging, const std::string& place) {
    GPUHOST_TRY(source, content::Package::open(fd, package));
    SourceTree tree;
    for (;;) {
        GPUHOST_TRY(entry, source.next());
        if (!entry)
            break;
        const auto inside = below(entry->path, directory);
        if (!inside)
            continue;
        if (auto done = unpack_one(*entry, place + "/" + *inside, *inside, source, staging); !done)
            return base::fail(done.error().context(package));
        tree.bytes += entry->size;
        if (base::ends_with(entry->path, ".c"))
            ++tree.sources;
    }
    if (tree.bytes == 0)
        return base::fail(Errc::BadContent, package + ": no files in '" + directory + "'");
    return tree;
}

} // namespace gpuhost::kmod
