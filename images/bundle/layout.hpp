// SPDX-License-Identifier: Apache-2.0
// Where everything stands in a bundle: an uncompressed tar (POSIX.1-2001 pax) that is a function of its manifest.
//
// The first member is the signed manifest. Every other member's bytes begin at a multiple of 4096, so that a file
// system can share them with the store; a pax comment fills what is before. Since nothing in it is left to choice, a
// reader makes the same headers from the manifest and compares: no two readers can see two bundles in one file.
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
/// Of the signed manifest; 100,000 members have about 13 MiB.
constexpr std::uint64_t manifest_limit = std::uint64_t{64} << 20U;

/// The header of the first member: one block.
[[nodiscard]] std::string manifest_header(std::uint64_t size);
/// The size in a block that is such a header; nothing for any other block.
[[nodiscard]] std::optional<std::uint64_t> manifest_size(std::string_view block);

/// What stands between the bytes of one member and those of the next, in order.
class BundleLayout {
  public:
    explicit BundleLayout(std::uint64_t manifest_bytes);

    /// From the end of what came before to the first byte of `member`: zeros, its headers.
    [[nodiscard]] std::string before(const Member& member);
    /// From the end of the last member to the end of the file.
    [[nodiscard]] std::string end();
    /// Where the last before() or end() ended.
    [[nodiscard]] std::uint64_t position() const { return position_; }

  private:
    std::uint64_t position_ = 0; ///< end of the bytes so far, or of the member that before() led to
    std::uint64_t pending_ = 0;  ///< size of that member
};

} // namespace gpuhost::images
