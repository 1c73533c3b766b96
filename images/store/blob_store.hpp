// SPDX-License-Identifier: Apache-2.0
// The blobs of this host, each in a file named by its SHA-256.
//
// A blob is renamed to that name only after all of it is on the disk and hashed. The name is therefore proof:
// readers compare the size and read nothing. Incomplete blobs are in an incoming directory, and an import
// continues them where they end. It hashes their bytes again, since a power cut leaves files whose size
// exceeds their valid content.
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
/// Bytes left free for other users of the file system.
constexpr std::uint64_t store_reserve = std::uint64_t{64} << 20U;

class BlobStore {
  public:
    explicit BlobStore(const base::Root& root) : root_(root) {}

    /// Reports whether the blob is present, by name and size. A scrub checks the content.
    [[nodiscard]] bool has(std::string_view hex, std::uint64_t size) const;
    [[nodiscard]] base::Result<base::UniqueFd> open(std::string_view hex) const;
    [[nodiscard]] base::Result<void> remove(std::string_view hex) const;

  private:
    const base::Root& root_;
};

/// Writes one blob into an incoming directory and hashes it meanwhile.
class BlobWriter {
  public:
    /// Opens the blob's file. Hashes its existing bytes, at most `size`; with `anew`, discards them instead.
    /// `directory` must stay open.
    [[nodiscard]] static base::Result<BlobWriter> open(int directory, std::string hex, std::uint64_t size,
                                                       bool anew);

    [[nodiscard]] std::uint64_t written() const { return written_; }
    /// Appends bytes. Removes the file if the disk refused bytes, so that the next import does not rely on
    /// the page cache.
    [[nodiscard]] base::Result<void> write(std::span<const char> bytes);
    /// Compares size and digest. If they differ, removes the file and fails with BadContent. The next import
    /// starts again.
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

/// The incoming blobs of one import.
class Incoming {
  public:
    /// Opens the incoming directory `name`, a path component. Keeps files of an earlier import of that name.
    [[nodiscard]] static base::Result<Incoming> open(const base::Root& root, const std::string& name);

    [[nodiscard]] base::Result<BlobWriter> write(const std::string& hex, std::uint64_t size) const {
        return BlobWriter::open(directory_.get(), hex, size, false);
    }
    [[nodiscard]] base::Result<BlobWriter> write_anew(const std::string& hex, std::uint64_t size) const {
        return BlobWriter::open(directory_.get(), hex, size, true);
    }
    [[nodiscard]] bool seeks_slowly() const { return images::seeks_slowly(directory_.get()); }
    /// Renames finished blobs into the store, after all of them are on the disk. Ends in the same state
    /// wherever an earlier run was interrupted.
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

/// Returns blobs_directory, or its nearest existing parent: a path on the store's file system even before the
/// store exists.
[[nodiscard]] std::string_view store_place(const base::Root& root);

} // namespace gpuhost::images
