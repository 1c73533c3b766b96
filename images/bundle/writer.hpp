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

/// Reads on in a member's bytes: how many it put into the buffer, 0 at their end. Never asked for more than its size.
using MemberBytes = std::function<base::Result<std::size_t>(std::span<char>)>;
/// Those of a file from `offset` on. `place` is for messages.
[[nodiscard]] MemberBytes bytes_of(base::UniqueFd fd, std::uint64_t offset, std::string place);
using OpenMember = std::function<base::Result<MemberBytes>(const Member&)>;

/// Where a bundle goes, byte by byte.
class BundleOutput {
  public:
    BundleOutput() = default;
    BundleOutput(const BundleOutput&) = delete;
    BundleOutput& operator=(const BundleOutput&) = delete;
    virtual ~BundleOutput() = default;

    /// Comes first, with the size of all of it: what has no place for that refuses it here.
    [[nodiscard]] virtual base::Result<void> begin(std::uint64_t size) = 0;
    [[nodiscard]] virtual base::Result<void> write(std::string_view bytes) = 0;
};

/// Writes a bundle to `out`. The same manifest and key make the same bytes. A member whose bytes
/// are not what the manifest says is an error: what is signed is true. `on_bytes` is told of members' bytes.
[[nodiscard]] base::Result<void> write_bundle(BundleOutput& out, const BundleManifest& manifest,
                                              const content::SigningKey& key, const OpenMember& open,
                                              const std::function<void(std::uint64_t)>& on_bytes = {});

} // namespace gpuhost::images
