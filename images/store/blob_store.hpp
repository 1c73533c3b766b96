// SPDX-License-Identifier: Apache-2.0
// The blob store: all blobs of the bundles on this host, each in a file named by its SHA-256.
//
// A blob gets that name only after its whole content is on the disk and matches the digest. To see whether a
// blob is present, callers therefore compare only its size. Until it gets that name, the blob is in a
// directory below incoming/ that belongs to the import. After an interruption, the next import of the same
// bundle appends to the file there. This import hashes the file's bytes again, since after a power cut a file
// may be longer than its valid content.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/block_device.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view store_directory = "/var/lib/gpuhost/store";
constexpr std::string_view blobs_directory = "/var/lib/gpuhost/store/sha256";
constexpr std::string_view incoming_directory = "/var/lib/gpuhost/store/incoming";
/// Bytes that imports leave free on the file system for other programs.
constexpr std::uint64_t store_reserve = std::uint64_t{64} << 20U;

class BlobStore {
  public:
    explicit BlobStore(const base::Root& root) : root_(root) {}

    /// Reports whether the blob is present, by its file's name and size. Does not read the content; a scrub
    /// does (scrub.hpp).
    [[nodiscard]] bool has(std::string_view hex, std::uint64_t size) const;
    [[nodiscard]] base::Result<base::UniqueFd> open(std::string_view hex) const;
    [[nodiscard]] base::Result<void> remove(std::string_view hex) const;

  private:
    const base::Root& root_;
};

/// Writes one blob into the incoming directory of an import, and hashes the bytes as it writes them.
class BlobWriter {
  public:
    /// Opens the blob's file in `directory`, or creates it. Keeps and hashes the bytes that an interrupted
    /// import left, at most `size`; with `anew`, discards them. `directory` is not owned and must stay open.
    [[nodiscard]] static base::Result<BlobWriter> open(int directory, std::string hex, std::uint64_t size,
                                                       bool anew);

    /// Returns the bytes in the file so far. The caller passes the blob's bytes to write(), beginning at this
    /// offset.
    [[nodiscard]] std::uint64_t written() const { return written_; }
    /// Appends bytes. If their writeback fails, removes the file and fails, because the next import must not
    /// rely on bytes that are only in the page cache.
    [[nodiscard]] base::Result<void> write(std::span<const char> bytes);
    /// Compares size and digest of the complete blob. If one differs, removes the file and fails with
    /// BadContent. The next import then writes the blob from its first byte.
    [[nodiscard]] base::Result<void> finish();

  private:
    BlobWriter(int directory, base::UniqueFd fd, std::string hex, std::uint64_t size)
        : directory_(directory), fd_(std::move(fd)), hex_(std::move(hex)), size_(size) {}
    [[nodiscard]] base::Result<void> start_writeback();
    [[nodiscard]] base::Result<void> write_out(std::uint64_t from, std::uint64_t to, unsigned flags);

    int directory_;
    base::UniqueFd fd_;
    std::string hex_;
    std::uint64_t size_ = 0;
    std::uint64_t written_ = 0;
    std::uint64_t flushed_ = 0;   ///< offset up to which writeback has started
    std::uint64_t forgotten_ = 0; ///< offset up to which the bytes are on the disk and out of the page cache
    content::Sha256 hash_;
};

/// The directory below incoming/ with the blobs that one import receives.
class Incoming {
  public:
    /// Opens incoming/NAME, or creates it. Keeps the files that an interrupted import left there. `name` is a
    /// path component; imports pass the digest of the bundle's manifest.
    [[nodiscard]] static base::Result<Incoming> open(const base::Root& root, const std::string& name);

    /// Opens one blob of the import for writing: write() continues an incomplete blob, write_anew() begins at
    /// its first byte.
    [[nodiscard]] base::Result<BlobWriter> write(const std::string& hex, std::uint64_t size) const {
        return BlobWriter::open(directory_.get(), hex, size, false);
    }
    [[nodiscard]] base::Result<BlobWriter> write_anew(const std::string& hex, std::uint64_t size) const {
        return BlobWriter::open(directory_.get(), hex, size, true);
    }
    [[nodiscard]] bool seeks_slowly() const { return images::seeks_slowly(directory_.get()); }
    /// Waits until the blobs are on the disk, then renames all of them into the store. May be called again
    /// after an interruption: blobs that are already in the store are skipped.
    [[nodiscard]] base::Result<void> publish(const std::vector<std::string>& blobs) const;
    /// Removes the directory with all its files.
    [[nodiscard]] base::Result<void> remove() const;

  private:
    Incoming(const base::Root& root, std::string path, base::UniqueFd directory)
        : root_(&root), path_(std::move(path)), directory_(std::move(directory)) {}
    [[nodiscard]] base::Result<void> sync(const std::vector<std::string>& blobs) const;

    const base::Root* root_;
    std::string path_;
    base::UniqueFd directory_;
};

} // namespace gpuhost::images
