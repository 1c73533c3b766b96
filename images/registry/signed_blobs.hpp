// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/create/inventory.hpp"

namespace gpuhost::images {

/// The blobs that this host's signed bundles own. Needs 32 bytes for each.
class SignedBlobs {
  public:
    [[nodiscard]] static base::Result<SignedBlobs> load(const base::Root& root);
    [[nodiscard]] bool has(std::string_view hex) const { return blobs_.has(hex); }

  private:
    BlobSet blobs_;
};

} // namespace gpuhost::images
