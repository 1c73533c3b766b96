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
    /// identity() of the manifest: the same for every signer and for a delta of the bundle
    std::string digest;
    /// The signed manifest (CMS, DER) unchanged; for an unsigned bundle the manifest's text.
    std::string der;
};

/// Verifies the signature of `der`, a CMS SignedData that contains the manifest. Parses the manifest only
/// after that. `what` names the bundle in errors.
[[nodiscard]] base::Result<SignedManifest>
verify_manifest(std::string der, const content::TrustAnchors& trust, const std::string& what);

} // namespace gpuhost::images
