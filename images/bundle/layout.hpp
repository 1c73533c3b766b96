// SPDX-License-Identifier: Apache-2.0
// The layout of a bundle: an uncompressed tar (POSIX.1-2001 pax) that is a function of its manifest.
//
// The first member is the signed manifest. The bytes of every other member begin at a multiple of 4096, so a
// file system can share them with the store. A pax comment fills the gap before them. The layout leaves
// nothing to choice: a reader computes the same headers from the manifest and compares them. Two readers
// therefore cannot see two different bundles in one file.
#pragma once

#include "images/bundle/manifest.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::images {

constexpr std::string_view manifest_place = "gpuhost-manifest.p7s";
constexpr std::uint64_t data_alignment = 4096;
constexpr std::size_t tar_block = 512;
/// The largest signed manifest, in bytes. A manifest with 100,000 members has about 13 MiB.
constexpr std::uint64_t manifest_limit = std::uint64_t{64} << 20U;

/// Returns the header of the first member: one block.
[[nodiscard]] std::string manifest_header(std::uint64_t size);
/// Returns the size in such a header; nothing if `block` is any other block.
[[nodiscard]] std::optional<std::uint64_t> manifest_size(std::string_view block);

/// Computes the bytes between one member's content and the next, in order.
class BundleLayout {
  public:
    explicit BundleLayout(std::uint64_t manifest_bytes);

    /// Returns the bytes from the previous content to the first byte of `member`: padding and headers.
    [[nodiscard]] std::string before(const Member& member);
    /// Returns the bytes from the end of the last member to the end of the file.
    [[nodiscard]] std::string end();
    /// The offset at which the last before() or end() ended.
    [[nodiscard]] std::uint64_t position() const { return position_; }

  private:
    std::uint64_t position_ = 0; ///< offset after the last before() or end()
    std::uint64_t pending_ = 0;  ///< size of the member that begins there
};

} // namespace gpuhost::images
