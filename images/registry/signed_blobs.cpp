// SPDX-License-Identifier: Apache-2.0
#include "images/registry/signed_blobs.hpp"

namespace gpuhost::images {

base::Result<SignedBlobs> SignedBlobs::load(const base::Root& root) {
    const Catalogue catalogue(root);
    GPUHOST_TRY(names, catalogue.names());
    SignedBlobs made;
    for (const std::string& name : names) {
        const auto record = catalogue.record(name);
        if (!record || !record->is_signed())
            continue;
        if (const auto owned = catalogue.blobs(name)) // the host's status reports unreadable ones
            for (const OwnedBlob& blob : *owned)
                made.blobs_.add(blob.hex);
    }
    made.blobs_.finish();
    return made;
}

} // namespace gpuhost::images
