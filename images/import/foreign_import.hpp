// SPDX-License-Identifier: Apache-2.0
// Imports unsigned images: archives as "docker save" and similar programs write them, and OCI image layouts.
// They become a bundle without a signer, with a manifest that is made here. The import then continues as for
// any other bundle.
#pragma once

#include "images/import/import.hpp"

#include <string>
#include <vector>

namespace gpuhost::images {

struct ForeignInput {
    int fd = -1;         ///< of a file or of a directory; not owned
    std::string file;    ///< its name, for messages
    std::string image{}; ///< full name for its only image; empty: as the input says
};

struct ForeignBundle {
    BundleManifest manifest;
    std::vector<std::string> warnings; ///< sentences about unusable parts of the input
};

/// Checks what is known before reading: no signed bundle has the name, and there is enough space.
[[nodiscard]] base::Result<void> check_adoption(const base::Root& root, const ForeignInput& input,
                                                const std::string& bundle);

/// Estimates the bytes to write. A compressed archive needs more; blobs in the store need none.
[[nodiscard]] std::uint64_t unpacked_size(const base::Root& root, const ForeignInput& input);

/// Imports into the incoming directory and marks the result for received_bundle() and commit_unsigned().
/// Replaces a bundle of that name with other images only if the policy allows a downgrade. Leaves nothing on
/// failure.
[[nodiscard]] base::Result<ForeignBundle>
add_foreign_images(const base::Root& root, const ForeignInput& input, const std::string& bundle,
                   const HostFacts& host, const ImportPolicy& policy = {}, const OnBytes& on_bytes = {});

/// Returns the bundle name for this file: "k3s_airgap" for "/tmp/K3s_airgap.tar.zst". The result may be an
/// invalid name.
[[nodiscard]] std::string bundle_name_of(const std::string& file);

} // namespace gpuhost::images
