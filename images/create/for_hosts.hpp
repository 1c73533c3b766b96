// SPDX-License-Identifier: Apache-2.0
// Makes the smallest bundle for given hosts: keeps only what they need and lack.
#pragma once

#include "images/create/create.hpp"
#include "images/create/inventory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::images {

struct LeftOut {
    std::string why; ///< "for linux/arm64: no such host"
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;
};

struct Unserved {
    std::string host;
    std::string what; ///< a phrase: "has GPUs (…), but there is no driver for …"
};

/// Marks members as absent if each host either has them or does not need them. The identity of the bundle
/// stays the same: hosts may get either form.
[[nodiscard]] std::vector<LeftOut> leave_out(BundleManifest& manifest, const std::vector<Inventory>& hosts);

/// Returns what the hosts would need and not find. Packages do not show which GPUs their driver supports;
/// only GPUs= in the specification may. If the bundle has drivers, a host with GPUs is listed that neither
/// has a driver nor gets one.
[[nodiscard]] base::Result<std::vector<Unserved>> unserved(const Contents& contents,
                                                           const std::vector<Inventory>& hosts);

} // namespace gpuhost::images
