// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/content/crypto/cms.hpp"
#include "images/bundle/manifest.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhost::images {

/// Copies the next bytes of one member into a buffer, as read(2) does. Returns the number of bytes copied, at
/// most the buffer's size; 0 at the member's end. write_bundle() calls it until it has Member::size bytes,
/// and never requests more than the rest of them. If a call returns 0 earlier, write_bundle() fails.
using MemberBytes = std::function<base::Result<std::size_t>(std::span<char>)>;
/// Returns a function that reads an open file from `offset` on. `place` names the member in errors.
[[nodiscard]] MemberBytes bytes_of(base::UniqueFd fd, std::uint64_t offset, std::string place);
/// Opens the content of a member for reading, from its first byte.
using OpenMember = std::function<base::Result<MemberBytes>(const Member&)>;

/// Receives the bytes of a bundle in order, and writes them to a file or to several volumes.
class BundleOutput {
  public:
    BundleOutput() = default;
    BundleOutput(const BundleOutput&) = delete;
    BundleOutput& operator=(const BundleOutput&) = delete;
    virtual ~BundleOutput() = default;

    /// Called once, before write(), with the size of the whole bundle in bytes. Fails if the destination has
    /// less free space.
    [[nodiscard]] virtual base::Result<void> begin(std::uint64_t size) = 0;
    [[nodiscard]] virtual base::Result<void> write(std::string_view bytes) = 0;
};

/// Writes a bundle to `out`. Calls `open` for each member that is not absent, in the manifest's order. The
/// same manifest and key produce the same bytes. Fails with BadContent if a member's size or digest differs
/// from the manifest; the output is then incomplete. Calls `on_bytes` after each written piece of a member,
/// with the bytes of that piece.
[[nodiscard]] base::Result<void> write_bundle(BundleOutput& out, const BundleManifest& manifest,
                                              const content::SigningKey& key, const OpenMember& open,
                                              const std::function<void(std::uint64_t)>& on_bytes = {});

} // namespace gpuhost::images
