// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/content/crypto/cms.hpp"
#include "images/bundle/manifest.hpp"

#include <string>

namespace gpuhost::images {

/// A bundle's manifest, and who vouches for it.
struct SignedManifest {
    BundleManifest manifest;
    content::Signer signer;
    std::string digest; ///< identity(): what makes two bundles the same, whoever signed them when
    std::string der;    ///< as it stands in the bundle; of what nobody signed, the manifest's text
};

/// `der` is CMS SignedData with the manifest inside. Nothing of it is parsed before the signature is verified.
[[nodiscard]] base::Result<SignedManifest>
verify_manifest(std::string der, const content::TrustAnchors& trust, const std::string& what);

} // namespace gpuhost::images
