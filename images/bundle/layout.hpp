// SPDX-License-Identifier: Apache-2.0
// The layout of a bundle: an uncompressed tar (POSIX.1-2001 pax). The manifest determines every byte of it
// other than the members' content.
//
// The first member is the signed manifest. The content of every other member begins at a multiple of 4096
// bytes, so a file system can share its blocks with a copy in the store. A pax comment fills the gap before
// the content. A reader computes the same headers from the manifest and compares them with the file. Two
// readers therefore cannot see two different bundles in one file.
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

/// Returns the tar header of the first member, one block. `size` is the size of the signed manifest in bytes.
[[nodiscard]] std::string manifest_header(std::uint64_t size);
/// Returns the size of the signed manifest, read from its tar header `block`. Returns nothing if `block`
/// differs from a header that manifest_header() returns.
[[nodiscard]] std::optional<std::uint64_t> manifest_size(std::string_view block);

/// Computes the bytes between the members' content: padding and tar headers. Call before() once for each
/// member that is not absent, in the manifest's order, then end().
class BundleLayout {
  public:
    explicit BundleLayout(std::uint64_t manifest_bytes);

    /// Returns the bytes between the end of the previous member's content and the first byte of this
    /// member's.
    [[nodiscard]] std::string before(const Member& member);
    /// Returns the bytes after the last member's content, up to the end of the file.
    [[nodiscard]] std::string end();
    /// Returns the offset in the bundle after the bytes that before() or end() returned last. After before(),
    /// this is the offset of that member's content; after end(), the bundle's size.
    [[nodiscard]] std::uint64_t position() const { return position_; }

  private:
    std::uint64_t position_ = 0; ///< offset after the last before() or end()
    std::uint64_t pending_ = 0;  ///< bytes of content that begin at position_
};

} // namespace gpuhost::images
