// SPDX-License-Identifier: Apache-2.0
// The stream of missing blobs from gpuhost-fetch to the worker that imports them. It begins like the bundle,
// up to the end of the signed manifest. A frame and the bytes follow for each blob, then the last frame.
//
// A frame is "HEX FIRST\n": the blob's digest, and the offset in the blob from which its bytes follow, in 16
// hex digits. An interrupted import left the bytes before that offset in the incoming directory. Blobs may be
// in any order. A blob with wrong bytes may be sent again. Anything else in the stream ends the import.
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

/// Reads the part after the manifest.
class BlobStream {
  public:
    /// Accepts only the blobs in `wanted`. `input` and the members must outlive the object.
    BlobStream(BundleInput& input, const std::vector<const Member*>& wanted);

    struct Blob {
        const Member* member = nullptr; ///< null: no more blobs
        std::uint64_t first = 0;
    };
    /// Returns the next blob. All bytes of the previous one must have been read. Fails with BadContent at the
    /// end if blobs are missing, and names one.
    [[nodiscard]] base::Result<Blob> next();
    [[nodiscard]] std::uint64_t left() const { return left_; } ///< bytes of that blob
    [[nodiscard]] base::Result<void> read(std::span<char> buffer);
    [[nodiscard]] base::Result<void> skip(std::uint64_t bytes);
    /// Marks a blob as complete. It must not be sent again.
    void received(const Member& member) { wanted_.erase(member.hex); }

  private:
    [[nodiscard]] base::Result<Blob> end();

    BundleInput& input_;
    std::map<std::string, const Member*, std::less<>> wanted_;
    std::uint64_t left_ = 0;
};

} // namespace gpuhost::images
