// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/content/crypto/cms.hpp"
#include "images/bundle/manifest.hpp"

#include <string>

namespace gpuhost::images {

/// A bundle's manifest and its signer.
struct SignedManifest {
    BundleManifest manifest;
    content::Signer signer;
    std::string digest; ///< identity(): independent of the signer, and of what a delta leaves out
    std::string der;    ///< as in the bundle; the manifest's text if the bundle is unsigned
};

/// Verifies `der`, a CMS SignedData with the manifest inside, and parses nothing of it before.
[[nodiscard]] base::Result<SignedManifest>
verify_manifest(std::string der, const content::TrustAnchors& trust, const std::string& what);

} // namespace gpuhost::images
