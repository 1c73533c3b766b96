// SPDX-License-Identifier: Apache-2.0
// Sources of image blobs that are not yet in a bundle or in the store.
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
    std::uint64_t offset = 0; ///< of its first byte in the file
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

    /// Opens a blob by the hex digits of its SHA-256. Does not compare the bytes with it. Fails with NotFound
    /// if the blob is missing.
    [[nodiscard]] virtual base::Result<BlobBytes> open(const std::string& hex) const = 0;
};

/// Reads a whole blob and compares it with its digest. Fails with BadContent if it is larger than `limit` or
/// damaged.
[[nodiscard]] base::Result<std::string> read_blob(const BlobSource& source, const std::string& hex,
                                                  std::size_t limit);

/// The directory of an OCI image layout. Symbolic links cannot lead outside of it, and links in the place of
/// blobs are not followed.
class LayoutDirectory : public BlobSource {
  public:
    explicit LayoutDirectory(base::Root root) : root_(std::move(root)) {}

    [[nodiscard]] const base::Root& root() const { return root_; }
    [[nodiscard]] base::Result<BlobBytes> open(const std::string& hex) const override;

  private:
    base::Root root_;
};

/// Accepts blobs whose digests become known only when they are written.
class BlobSink : public BlobSource {
  public:
    /// Writes at most `most` bytes to `fd` from its current offset, and returns their size and digest.
    using Write = std::function<base::Result<content::FileDigest>(int fd)>;
    [[nodiscard]] virtual base::Result<content::FileDigest> add(std::uint64_t most, const Write& write) = 0;
};

/// Adds bytes that this program made.
[[nodiscard]] base::Result<content::FileDigest> add_blob(BlobSink& blobs, const std::string& bytes);

/// Blobs one after the other in a file without a name, which the kernel removes with the process.
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
    std::uint64_t end_ = 0;
    std::map<std::string, Place> places_;
};

} // namespace gpuhost::images
