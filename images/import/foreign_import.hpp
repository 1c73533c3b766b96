// SPDX-License-Identifier: Apache-2.0
// Imports unsigned images from an archive of "docker save" or a similar program, or from an OCI image layout.
// Makes a manifest of them, so that they become a bundle without a signature. The steps after that are the
// same as for a signed bundle.
#pragma once

#include "images/import/import.hpp"

#include <string>
#include <vector>

namespace gpuhost::images {

struct ForeignInput {
    int fd = -1;         ///< an open file or directory; not owned
    std::string file;    ///< its name, for messages
    std::string image{}; ///< full name for its only image; empty: images keep their names
};

struct ForeignBundle {
    BundleManifest manifest;
    std::vector<std::string> warnings; ///< sentences about images that are left out or have no name
};

/// Makes the checks that are possible before the input is read. Fails with Refused if a signed bundle has the
/// name `bundle`. Fails with NoSpace if a new bundle's archive is larger than the free space.
[[nodiscard]] base::Result<void> check_foreign_input(const base::Root& root, const ForeignInput& input,
                                                     const std::string& bundle);

/// Estimates the bytes that the import writes. For a layout: the blobs that are not in the store. For an
/// archive: its size, which is too small if the archive is compressed.
[[nodiscard]] std::uint64_t unpacked_size(const base::Root& root, const ForeignInput& input);

/// Writes the blobs and the manifest into the incoming directory and calls mark_received(), so that
/// commit_unsigned() can finish the import. Fails with Refused if `bundle` exists with other images, unless
/// `policy` allows a downgrade. On failure removes everything that it wrote.
[[nodiscard]] base::Result<ForeignBundle>
add_foreign_images(const base::Root& root, const ForeignInput& input, const std::string& bundle,
                   const HostFacts& host, const ImportPolicy& policy = {}, const OnBytes& on_bytes = {});

/// Returns the default name of the bundle for a file: "k3s_airgap" for "/tmp/K3s_airgap.tar.zst". The caller
/// checks it with is_bundle_name().
[[nodiscard]] std::string bundle_name_of(const std::string& file);

} // namespace gpuhost::images
