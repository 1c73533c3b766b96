// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/signed_manifest.hpp"

namespace gpuhost::images {

base::Result<SignedManifest> verify_manifest(std::string der, const content::TrustAnchors& trust,
                                             const std::string& what) {
    GPUHOST_TRY(document, content::verify_signed(der, trust, what));
    GPUHOST_TRY(manifest, parse_bundle_manifest(document.content, what));
    std::string().swap(document.content); // frees the text, about as large as the parsed manifest
    std::string digest = identity(manifest);
    return SignedManifest{std::move(manifest), std::move(document.signer), std::move(digest), std::move(der)};
}

} // namespace gpuhost::images
