// SPDX-License-Identifier: Apache-2.0
// Images that nobody signed come in: what "docker save" and its like write, and OCI image layouts. They become a bundle
// without a signer, with a manifest that is made here; from there on their way is that of any other.
#pragma once

#include "images/import/import.hpp"

#include <string>
#include <vector>

namespace gpuhost::images {

struct ForeignInput {
    int fd = -1;         ///< of a file or of a directory; not owned
    std::string file;    ///< its name, for messages
    std::string image{}; ///< what its one image is to be called, in full; empty: as the input says
};

struct Adopted {
    BundleManifest manifest;
    std::vector<std::string> warnings; ///< what of the input nobody can use: sentences
};

/// What can be known before it is read: no signed bundle has the name, and there is room.
[[nodiscard]] base::Result<void> check_adoption(const base::Root& root, const ForeignInput& input,
                                                const std::string& bundle);

/// About what it will write: a packed archive unpacks to more, and what the store has already is not written.
[[nodiscard]] std::uint64_t bytes_to_adopt(const base::Root& root, const ForeignInput& input);

/// Replaces a bundle of that name only where the policy lets an older one in. Leaves in the incoming directory what commit_unsigned() names, and says so to received_bundle(). If it fails, nothing.
[[nodiscard]] base::Result<Adopted> adopt_images(const base::Root& root, const ForeignInput& input,
                                                 const std::string& bundle, const HostFacts& host,
                                                 const ImportPolicy& policy = {},
                                                 const OnBytes& on_bytes = {});

/// What a bundle is called that comes from this file: "k3s_airgap" for "/tmp/K3s_airgap.tar.zst"; may be no name.
[[nodiscard]] std::string bundle_name_of(const std::string& file);

} // namespace gpuhost::images
