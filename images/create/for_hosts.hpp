// SPDX-License-Identifier: Apache-2.0
// Makes the smallest bundle for given hosts, from their inventories: only the blobs that a host needs and
// lacks.
#pragma once

#include "images/create/create.hpp"
#include "images/create/inventory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::images {

/// Blobs that were left out for the same reason: their number and total bytes.
struct LeftOut {
    std::string why; ///< text for people: "for linux/arm64: no such host"
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;
};

/// Something that a host needs and the bundle does not contain.
struct Unserved {
    std::string host;
    std::string what; ///< a predicate for `host`: "has GPUs (…), but there is no driver for …"
};

/// Marks a member as absent if every host has it or does not need it, and returns what was left out, by
/// reason. The identity() of the manifest stays the same, so hosts may import either the whole bundle or this
/// one.
[[nodiscard]] std::vector<LeftOut> leave_out(BundleManifest& manifest, const std::vector<Inventory>& hosts);

/// Returns what each host needs and lacks, and would still lack after an import of the bundle. Examples are
/// modules for its kernels, or an image for its platform. Also returns that a host would refuse the bundle's
/// generation. If the bundle has drivers, reports each host with GPUs that has no driver and gets none.
/// Packages do not state which GPUs their driver supports, so only GPUs= in the specification is evaluated.
[[nodiscard]] base::Result<std::vector<Unserved>> unserved(const Contents& contents,
                                                           const std::vector<Inventory>& hosts);

} // namespace gpuhost::images
