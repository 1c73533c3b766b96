// SPDX-License-Identifier: Apache-2.0
// The smallest bundle that serves some hosts: of a bundle with everything, what they need and lack.
#pragma once

#include "images/create/create.hpp"
#include "images/create/inventory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::images {

struct LeftOut {
    std::string why; ///< "for linux/arm64, of which there is no host"
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;
};

struct Unserved {
    std::string host;
    std::string what; ///< a phrase: "takes no older generation …"
};

/// Marks as absent what each host either does not need or has. So it stays the same bundle: to a host it makes no
/// difference which of the two it gets.
[[nodiscard]] std::vector<LeftOut> leave_out(BundleManifest& manifest, const std::vector<Inventory>& hosts);

/// What hosts would look for in it and not find. Which GPUs a driver supports its packages do not say, only GPUs= of the
/// specification may; a host that has GPUs and gets no driver at all is named.
[[nodiscard]] base::Result<std::vector<Unserved>> unserved(const Contents& contents,
                                                           const std::vector<Inventory>& hosts);

} // namespace gpuhost::images
