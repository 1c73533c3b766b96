// SPDX-License-Identifier: Apache-2.0
// The blobs of one bundle that a host lacks, as gpuhost-fetch hands them to the worker that imports them: the bundle's
// beginning up to the end of its signed manifest, then for each blob a frame and its bytes, then the last frame.
//
// A frame is "HEX FIRST\n": the blob's digest, and from which byte on it comes, in 16 hex digits. What is before lies in
// the incoming directory since an import that was interrupted. Blobs come in any order; one whose bytes were found wrong
// may come again. Whatever else is in the stream ends the import.
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

/// Reads what is behind the manifest.
class BlobStream {
  public:
    /// `input` and the members must outlive it. Nothing but these is taken.
    BlobStream(BundleInput& input, const std::vector<const Member*>& wanted);

    struct Blob {
        const Member* member = nullptr; ///< null: it was the last
        std::uint64_t first = 0;
    };
    /// When all bytes of the one before were read. At the end, everything must be there: BadContent names what lacks.
    [[nodiscard]] base::Result<Blob> next();
    [[nodiscard]] std::uint64_t left() const { return left_; } ///< bytes of that blob
    [[nodiscard]] base::Result<void> read(std::span<char> buffer);
    [[nodiscard]] base::Result<void> skip(std::uint64_t bytes);
    /// It is whole, and may not come again.
    void received(const Member& member) { wanted_.erase(member.hex); }

  private:
    [[nodiscard]] base::Result<Blob> end();

    BundleInput& input_;
    std::map<std::string, const Member*, std::less<>> wanted_;
    std::uint64_t left_ = 0;
};

} // namespace gpuhost::images
