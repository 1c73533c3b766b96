// SPDX-License-Identifier: Apache-2.0
// The blobs of this host, each in a file named by its SHA-256.
//
// A blob gets its name when all of it is on the disk and hashed to that name, never before; so a name is proof, and
// whoever looks for a blob compares the size and reads nothing. What is not complete lies in an incoming directory and
// is taken up where it ended: its bytes are hashed again, since a power cut leaves files with sizes they had not
// earned.
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
/// Left free for all others on the file system.
constexpr std::uint64_t store_reserve = std::uint64_t{64} << 20U;

class BlobStore {
  public:
    explicit BlobStore(const base::Root& root) : root_(root) {}

    /// Is it there? By name and size; `scrub` reads.
    [[nodiscard]] bool has(std::string_view hex, std::uint64_t size) const;
    [[nodiscard]] base::Result<base::UniqueFd> open(std::string_view hex) const;
    [[nodiscard]] base::Result<void> remove(std::string_view hex) const;

  private:
    const base::Root& root_;
};

/// Writes one blob into a directory of incoming ones and hashes it on the way.
class BlobWriter {
  public:
    /// `directory` must stay open. What is already in the file is hashed, at most `size` bytes, or goes
    /// if it is written `anew`.
    [[nodiscard]] static base::Result<BlobWriter> open(int directory, std::string hex, std::uint64_t size,
                                                       bool anew);

    [[nodiscard]] std::uint64_t written() const { return written_; }
    /// A file with bytes that the disk refused is removed, so that the next import does not believe the page cache.
    [[nodiscard]] base::Result<void> write(std::span<const char> bytes);
    /// Compares size and digest. If they differ the file goes, so that the next import begins anew: BadContent.
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
    std::uint64_t flushed_ = 0;   ///< up to where the kernel was told to begin writing
    std::uint64_t forgotten_ = 0; ///< up to where it is on the disk and out of the page cache
    content::Sha256 hash_;
};

/// Blobs on their way into the store, of one import.
class Incoming {
  public:
    /// `name` is a path component; what an import of that name left is still there.
    [[nodiscard]] static base::Result<Incoming> open(const base::Root& root, const std::string& name);

    [[nodiscard]] base::Result<BlobWriter> write(const std::string& hex, std::uint64_t size) const {
        return BlobWriter::open(directory_.get(), hex, size, false);
    }
    [[nodiscard]] base::Result<BlobWriter> write_anew(const std::string& hex, std::uint64_t size) const {
        return BlobWriter::open(directory_.get(), hex, size, true);
    }
    [[nodiscard]] bool seeks_slowly() const { return images::seeks_slowly(directory_.get()); }
    /// Gives finished blobs their names in the store: all of them are on the disk before the first has one. Ends in
    /// the same state wherever a run before it was interrupted.
    [[nodiscard]] base::Result<void> publish(const std::vector<std::string>& blobs) const;
    /// Removes the directory with all that is left in it.
    [[nodiscard]] base::Result<void> remove() const;

  private:
    Incoming(const base::Root& root, std::string path, base::UniqueFd directory)
        : root_(&root), path_(std::move(path)), directory_(std::move(directory)) {}
    [[nodiscard]] base::Result<void> sync(const std::vector<std::string>& blobs) const;

    const base::Root* root_;
    std::string path_;
    base::UniqueFd directory_;
};

/// blobs_directory, or the directory above it that is there: on the store's file system before there is a store.
[[nodiscard]] std::string_view store_place(const base::Root& root);

} // namespace gpuhost::images
