// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/content/cms.hpp"
#include "images/bundle_manifest.hpp"

#include <cstdint>
#include <functional>

namespace gpuhost::images {

/// Where a member's bytes are: as many as its size, from `offset` on.
struct MemberBytes {
    base::UniqueFd fd;
    std::uint64_t offset = 0;
};
using OpenMember = std::function<base::Result<MemberBytes>(const Member&)>;

/// Writes a bundle to `out` from where it stands. The same manifest and key make the same bytes. A member whose bytes
/// are not what the manifest says is an error: what is signed is true. `on_bytes` is told of members' bytes.
[[nodiscard]] base::Result<void> write_bundle(int out, const BundleManifest& manifest,
                                              const content::SigningKey& key, const OpenMember& open,
                                              const std::function<void(std::uint64_t)>& on_bytes = {});

} // namespace gpuhost::images
