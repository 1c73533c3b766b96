// SPDX-License-Identifier: Apache-2.0
#include "images/store/blob_source.hpp"

#include "images/bundle/plain_file.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::UniqueFd;
using content::FileDigest;

namespace {

/// Opens an unnamed file. File systems without O_TMPFILE get a named file that is unlinked at once.
UniqueFd unnamed_file(const std::string& directory) {
    UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    std::string path = directory + "/.gpuhost-XXXXXX";
    fd.reset(::mkostemp(path.data(), O_CLOEXEC));
    if (fd)
        (void)::unlink(path.c_str());
    return fd;
}

} // namespace

Result<std::string> read_blob(const BlobSource& source, const std::string& hex, std::size_t limit) {
    const std::string what = "blob sha256:" + hex;
    GPUHOST_TRY(blob, source.open(hex));
    if (blob.size > limit)
        return base::fail(Errc::BadContent, what + " is larger than " + std::to_string(limit) + " bytes");
    GPUHOST_TRY(text, base::read_at(blob.fd.get(), blob.offset, blob.size, what));
    if (content::sha256(text) != hex)
        return base::fail(Errc::BadContent, what + ": digest mismatch");
    return text;
}

Result<FileDigest> add_blob(BlobSink& blobs, const std::string& bytes) {
    return blobs.add(bytes.size(), [&](int fd) -> Result<FileDigest> {
        GPUHOST_CHECK(base::write_all(fd, bytes, "a blob"));
        return FileDigest{content::sha256(bytes), bytes.size()};
    });
}

Result<BlobBytes> LayoutDirectory::open(const std::string& hex) const {
    GPUHOST_TRY(fd, open_plain_file(root_, "/blobs/sha256/" + hex));
    struct stat st {};
    if (::fstat(fd.get(), &st) < 0)
        return base::fail_errno("blob sha256:" + hex, errno);
    return BlobBytes{std::move(fd), 0, static_cast<std::uint64_t>(st.st_size)};
}

Result<Spool> Spool::create(const std::string& directory) {
    UniqueFd fd = unnamed_file(directory);
    if (!fd)
        return base::fail_errno("a temporary file in '" + directory + "'", errno);
    return Spool(std::move(fd));
}

Result<FileDigest> Spool::add(std::uint64_t, const Write& write) {
    if (::lseek(fd_.get(), static_cast<off_t>(end_), SEEK_SET) < 0)
        return base::fail_errno("a temporary file", errno);
    GPUHOST_TRY(written, write(fd_.get()));
    if (places_.try_emplace(written.sha256, Place{end_, written.size}).second)
        end_ += written.size; // a blob that exists already is overwritten by the next one
    return std::move(written);
}

Result<BlobBytes> Spool::open(const std::string& hex) const {
    const auto place = places_.find(hex);
    if (place == places_.end())
        return base::fail(Errc::NotFound, "blob sha256:" + hex + ": not found");
    UniqueFd fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3));
    if (!fd)
        return base::fail_errno("a temporary file", errno);
    return BlobBytes{std::move(fd), place->second.offset, place->second.size};
}

} // namespace gpuhost::images
