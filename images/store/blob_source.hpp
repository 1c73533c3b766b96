// SPDX-License-Identifier: Apache-2.0
// Where the blobs of images are before they are in a bundle or in the store.
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

    /// NotFound if it is not there. `hex` is a SHA-256; the bytes are not compared with it.
    [[nodiscard]] virtual base::Result<BlobBytes> open(const std::string& hex) const = 0;
};

/// All of a blob, compared with its digest: BadContent if it is larger than `limit` or damaged.
[[nodiscard]] base::Result<std::string> read_blob(const BlobSource& source, const std::string& hex,
                                                  std::size_t limit);

/// The directory of an OCI image layout. Links in it lead to nothing outside, those of blobs to nothing at all.
class LayoutDirectory : public BlobSource {
  public:
    explicit LayoutDirectory(base::Root root) : root_(std::move(root)) {}

    [[nodiscard]] const base::Root& root() const { return root_; }
    [[nodiscard]] base::Result<BlobBytes> open(const std::string& hex) const override;

  private:
    base::Root root_;
};

/// Takes blobs whose digests nobody knows before they were read.
class BlobSink : public BlobSource {
  public:
    /// Writes at most `most` bytes to `fd` from where it stands, and says what.
    using Write = std::function<base::Result<content::FileDigest>(int fd)>;
    [[nodiscard]] virtual base::Result<content::FileDigest> add(std::uint64_t most, const Write& write) = 0;
};

/// These bytes, which somebody here made.
[[nodiscard]] base::Result<content::FileDigest> add_blob(BlobSink& blobs, const std::string& bytes);

/// Blobs one behind the other in a file that has no name: gone with the process, however that ends.
class Spool : public BlobSink {
  public:
    /// On the file system of that directory.
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
