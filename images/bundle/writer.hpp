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

/// Reads the next bytes of a member. Returns how many are in the buffer, 0 at the end. The writer never asks
/// for more than the member's size.
using MemberBytes = std::function<base::Result<std::size_t>(std::span<char>)>;
/// Reads the bytes of a file from `offset` on. `place` is for messages.
[[nodiscard]] MemberBytes bytes_of(base::UniqueFd fd, std::uint64_t offset, std::string place);
using OpenMember = std::function<base::Result<MemberBytes>(const Member&)>;

/// The destination of a bundle, byte by byte.
class BundleOutput {
  public:
    BundleOutput() = default;
    BundleOutput(const BundleOutput&) = delete;
    BundleOutput& operator=(const BundleOutput&) = delete;
    virtual ~BundleOutput() = default;

    /// Called first, with the total size. Fails if the destination has too little space for that.
    [[nodiscard]] virtual base::Result<void> begin(std::uint64_t size) = 0;
    [[nodiscard]] virtual base::Result<void> write(std::string_view bytes) = 0;
};

/// Writes a bundle to `out`. The same manifest and key produce the same bytes. Fails if a member's bytes
/// differ from the manifest, so a signed manifest is always true. `on_bytes` receives the number of members'
/// bytes written.
[[nodiscard]] base::Result<void> write_bundle(BundleOutput& out, const BundleManifest& manifest,
                                              const content::SigningKey& key, const OpenMember& open,
                                              const std::function<void(std::uint64_t)>& on_bytes = {});

} // namespace gpuhost::images
