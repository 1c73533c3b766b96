// SPDX-License-Identifier: Apache-2.0
// The stream that gpuhost-fetch writes to a pipe, from which a worker imports a bundle. It begins with the
// first bytes of the bundle, up to the end of the signed manifest. For each blob that the host lacks, a frame
// and the blob's bytes follow. The stream ends with a special frame (last_blob_frame()).
//
// A frame is "HEX FIRST\n": the blob's SHA-256, and an offset in the blob as 16 hex digits. The bytes after
// the frame are those from this offset to the blob's end. The bytes before it were left in the incoming
// directory by an interrupted import. Blobs may be in any order. A blob with wrong bytes may be sent again.
// Anything else in the stream makes the import fail.
#pragma once

#include "images/bundle/input.hpp"
#include "images/bundle/manifest.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

[[nodiscard]] std::string blob_frame(std::string_view hex, std::uint64_t first);
[[nodiscard]] std::string last_blob_frame();

/// Reads the part of the stream after the signed manifest.
class BlobStream {
  public:
    /// `input` is at the first frame. Any blob that is not in `wanted` makes next() fail. `input` and the
    /// members must outlive the object.
    BlobStream(BundleInput& input, const std::vector<const Member*>& wanted);

    struct Blob {
        const Member* member = nullptr; ///< null: no more blobs
        std::uint64_t first = 0;        ///< offset of the first byte that follows
    };
    /// Reads the next frame. Call it after all bytes of the previous blob were read or skipped. At the end of
    /// the stream, fails with BadContent if received() was not called for a blob of `wanted`.
    [[nodiscard]] base::Result<Blob> next();
    /// Bytes of the current blob that were not read yet.
    [[nodiscard]] std::uint64_t left() const { return left_; }
    [[nodiscard]] base::Result<void> read(std::span<char> buffer);
    [[nodiscard]] base::Result<void> skip(std::uint64_t bytes);
    /// Marks a blob as complete and correct. If it is sent again, next() fails.
    void received(const Member& member) { wanted_.erase(member.hex); }

  private:
    [[nodiscard]] base::Result<Blob> end();

    BundleInput& input_;
    std::map<std::string, const Member*, std::less<>> wanted_;
    std::uint64_t left_ = 0;
};

} // namespace gpuhost::images
