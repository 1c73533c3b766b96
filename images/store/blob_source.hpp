// SPDX-License-Identifier: Apache-2.0
// Sources of image blobs: an OCI image layout, or an archive. The blobs are copied into a bundle or into this
// host's blob store.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace gpuhost::images {

struct BlobBytes {
    base::UniqueFd fd;
    std::uint64_t offset = 0; ///< offset of the blob's first byte in the file
    std::uint64_t size = 0;
};

class BlobSource {
  public:
    BlobSource() = default;
    BlobSource(BlobSource&&) = default;
    BlobSource& operator=(BlobSource&&) = default;
    BlobSource(const BlobSource&) = delete;
    BlobSource& operator=(const BlobSource&) = delete;
    virtual ~BlobSource() = default;

    /// Opens a blob by the hex digits of its SHA-256. Does not compare the content with that digest. Fails
    /// with NotFound if the blob is missing.
    [[nodiscard]] virtual base::Result<BlobBytes> open(const std::string& hex) const = 0;
};

/// Reads a whole blob and compares it with its digest. Fails with BadContent if it has more than `limit`
/// bytes or another digest.
[[nodiscard]] base::Result<std::string> read_blob(const BlobSource& source, const std::string& hex,
                                                  std::size_t limit);

/// The directory of an OCI image layout. Symbolic links cannot lead out of the directory. A blob that is a
/// symbolic link is refused.
class LayoutDirectory : public BlobSource {
  public:
    explicit LayoutDirectory(base::Root root) : root_(std::move(root)) {}

    [[nodiscard]] const base::Root& root() const { return root_; }
    [[nodiscard]] base::Result<BlobBytes> open(const std::string& hex) const override;

  private:
    base::Root root_;
};

/// A store for new blobs, whose digests are known only after they are written.
class BlobSink : public BlobSource {
  public:
    /// Writes one blob to `fd`, from the current offset of `fd` on. Returns the blob's size and digest.
    using Write = std::function<base::Result<content::FileDigest>(int fd)>;
    /// Adds the blob that `write` writes. `write` must not write more than `most` bytes. Returns the result
    /// of `write`.
    [[nodiscard]] virtual base::Result<content::FileDigest> add(std::uint64_t most, const Write& write) = 0;
};

/// Adds a blob with this content, for documents that this program generates.
[[nodiscard]] base::Result<content::FileDigest> add_blob(BlobSink& blobs, const std::string& bytes);

/// Keeps blobs one after the other in one unnamed temporary file, which the kernel removes when the process
/// ends.
class Spool : public BlobSink {
  public:
    /// Creates the file on the file system of `directory`.
    [[nodiscard]] static base::Result<Spool> create(const std::string& directory);

    [[nodiscard]] base::Result<content::FileDigest> add(std::uint64_t most, const Write& write) override;
    [[nodiscard]] base::Result<BlobBytes> open(const std::string& hex) const override;

  private:
    struct Place {
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
    };
    explicit Spool(base::UniqueFd fd) : fd_(std::move(fd)) {}

    base::UniqueFd fd_;
    /// Offset after the last blob.
    std::uint64_t end_ = 0;
    std::map<std::string, Place> places_;
};

} // namespace gpuhost::images
