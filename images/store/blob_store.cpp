// SPDX-License-Identifier: Apache-2.0
#include "images/store/blob_store.hpp"

#include "daemon/base/page_buffer.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::UniqueFd;

namespace {

/// Writeback starts after this many bytes, which fill a disk's queue.
constexpr std::uint64_t writeback_bytes = 8U << 20U;
/// If fewer bytes remain at a blob's end, the final sync writes them.
constexpr std::uint64_t worth_a_request = 256U << 10U;
/// At most this many of the last bytes may still be in writeback.
constexpr std::uint64_t behind = 2 * writeback_bytes;
constexpr std::size_t read_bytes = 1U << 20U;
/// For this many files or more, one syncfs(2) is faster than an fdatasync(2) for each. For fewer files,
/// fdatasync(2) is used, because it does not wait for the writes of other programs.
constexpr std::size_t many_files = 256;

std::string path_of(std::string_view hex) {
    return std::string(blobs_directory) + "/" + std::string(hex);
}

} // namespace

bool BlobStore::has(std::string_view hex, std::uint64_t size) const {
    const auto st = root_.lstat(path_of(hex));
    return st && S_ISREG(st->st_mode) && static_cast<std::uint64_t>(st->st_size) == size;
}

Result<UniqueFd> BlobStore::open(std::string_view hex) const {
    // O_NONBLOCK: if the path is a pipe, the call does not block.
    return root_.open_file(path_of(hex), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

Result<void> BlobStore::remove(std::string_view hex) const {
    return root_.remove(path_of(hex));
}

// --- one blob

Result<BlobWriter> BlobWriter::open(int directory, std::string hex, std::uint64_t size, bool anew) {
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (anew ? O_TRUNC : 0);
    UniqueFd fd(::openat(directory, hex.c_str(), flags, 0644));
    if (!fd)
        return base::fail_errno("blob " + hex, errno);
    BlobWriter writer(directory, std::move(fd), std::move(hex), size);
    struct stat st {};
    if (::fstat(writer.fd_.get(), &st) < 0)
        return base::fail_errno("blob " + writer.hex_, errno);
    const base::PageBuffer buffer(st.st_size == 0 ? 0 : read_bytes);
    while (writer.written_ < size && buffer.size() > 0) {
        const std::size_t most =
            static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size - writer.written_));
        const ssize_t n = ::pread(writer.fd_.get(), buffer.data(), most, static_cast<off_t>(writer.written_));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break; // the caller writes from here on, over unreadable bytes
        writer.hash_.update({buffer.data(), static_cast<std::size_t>(n)});
        writer.written_ += static_cast<std::uint64_t>(n);
    }
    if (::ftruncate(writer.fd_.get(), static_cast<off_t>(writer.written_)) < 0)
        return base::fail_errno("blob " + writer.hex_, errno);
    return writer;
}

/// Hashes on the calling thread, although hashing is half of an import's time. A second thread made imports
/// slower on busy hosts.
Result<void> BlobWriter::write(std::span<const char> bytes) {
    hash_.update({bytes.data(), bytes.size()});
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(written_));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return base::fail_errno("writing blob " + hex_, errno);
        written_ += static_cast<std::uint64_t>(n);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return written_ - flushed_ >= writeback_bytes ? start_writeback() : Result<void>();
}

/// Calls sync_file_range(2), and unlinks the blob if that reports a write error. The kernel reports a write
/// error only once, and keeps the bytes in the page cache as if written. A later fdatasync(2) would succeed.
/// The error may have the block device's number, such as ENOLINK for a lost path. Every error therefore
/// counts as a write error, except the errors of a file system without this call.
Result<void> BlobWriter::write_out(std::uint64_t from, std::uint64_t to, unsigned flags) {
    const bool started =
        ::sync_file_range(fd_.get(), static_cast<off_t>(from), static_cast<off_t>(to - from), flags) == 0;
    const int error = started ? 0 : errno;
    if (error == 0 || error == ENOSYS || error == EOPNOTSUPP || error == ESPIPE)
        return {};
    (void)::unlinkat(directory_, hex_.c_str(), 0);
    return base::fail_errno("writing blob " + hex_, error);
}

/// Starts writeback of the last bytes, so that the final sync has little to do. Waits for the writeback of
/// earlier bytes and drops them from the page cache, which leaves memory for other programs.
Result<void> BlobWriter::start_writeback() {
    GPUHOST_CHECK(write_out(flushed_, written_, SYNC_FILE_RANGE_WRITE));
    flushed_ = written_;
    if (flushed_ <= forgotten_ + behind)
        return {};
    const std::uint64_t until = flushed_ - behind;
    GPUHOST_CHECK(write_out(
        forgotten_, until, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
    (void)::posix_fadvise(fd_.get(), static_cast<off_t>(forgotten_), static_cast<off_t>(until - forgotten_),
                          POSIX_FADV_DONTNEED);
    forgotten_ = until;
    return {};
}

Result<void> BlobWriter::finish() {
    if (written_ == size_ && hash_.finish() == hex_) {
        return written_ - flushed_ >= worth_a_request ? start_writeback() : Result<void>();
    }
    (void)::unlinkat(directory_, hex_.c_str(), 0);
    return base::fail(Errc::BadContent, "blob sha256:" + hex_ + ": digest mismatch",
                      "Copy the file again: it is damaged or was altered.");
}

// --- all of one import

Result<Incoming> Incoming::open(const base::Root& root, const std::string& name) {
    const std::string path = std::string(incoming_directory) + "/" + name;
    GPUHOST_CHECK(root.make_directories(path));
    GPUHOST_TRY(directory, root.open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    return Incoming(root, path, std::move(directory));
}

/// Waits until the blobs are on the disk, and removes those with a write error. In the page cache, such a
/// blob looks complete, and a second sync would report success.
Result<void> Incoming::sync(const std::vector<std::string>& blobs) const {
    if (blobs.size() >= many_files) {
        if (::syncfs(directory_.get()) == 0)
            return {};
        auto failed = base::fail_errno("syncing " + path_, errno);
        (void)remove(); // all blobs: syncfs(2) does not say which one failed
        return failed;
    }
    Result<void> synced;
    for (const std::string& hex : blobs) {
        const UniqueFd fd(::openat(directory_.get(), hex.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!fd && errno == ENOENT)
            continue; // already renamed into the store
        if (fd && ::fdatasync(fd.get()) == 0) {
            (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
            continue;
        }
        const int error = errno;
        if (fd)
            (void)::unlinkat(directory_.get(), hex.c_str(), 0);
        if (synced) // the loop continues, to find all blobs that must be removed
            synced = base::fail_errno("syncing blob " + hex, error);
    }
    return synced;
}

Result<void> Incoming::publish(const std::vector<std::string>& blobs) const {
    GPUHOST_CHECK(sync(blobs));
    GPUHOST_CHECK(root_->make_directories(blobs_directory));
    GPUHOST_TRY(store, root_->open_file(blobs_directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    for (const std::string& hex : blobs) {
        const bool named = ::renameat(directory_.get(), hex.c_str(), store.get(), hex.c_str()) == 0;
        // Makes the blob read-only only after the rename. If the import is interrupted before the rename, the
        // next import must be able to open the file for writing.
        if ((named || errno == ENOENT) && ::fchmodat(store.get(), hex.c_str(), 0444, 0) == 0)
            continue;
        if (errno == ENOENT) // the store had the blob when the import began; a scrub has removed it since
            return base::fail(Errc::Interrupted,
                              "blob sha256:" + hex + ": found damaged during the import, and removed",
                              "Import it again.");
        return base::fail_errno("naming blob " + hex, errno);
    }
    return ::fsync(store.get()) < 0 ? base::fail_errno("syncing " + std::string(blobs_directory), errno)
                                    : Result<void>();
}

Result<void> Incoming::remove() const {
    return root_->remove_tree(path_);
}

} // namespace gpuhost::images
