// SPDX-License-Identifier: Apache-2.0
// Reads a bundle once, from its first byte to its last. Verifies the signature of the manifest before it uses
// anything else. A file with bytes that do not follow from the manifest is refused.
#pragma once

#include "daemon/content/crypto/cms.hpp"
#include "images/bundle/input.hpp"
#include "images/bundle/layout.hpp"
#include "images/bundle/signed_manifest.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace gpuhost::images {

/// Reads the signed manifest at the beginning of a bundle, verifies and parses it. Leaves `input` at the
/// first byte after the manifest.
[[nodiscard]] base::Result<SignedManifest> read_signed_manifest(BundleInput& input,
                                                                const content::TrustAnchors& trust);

class BundleReader {
  public:
    [[nodiscard]] static base::Result<BundleReader> open(BundleInput input,
                                                         const content::TrustAnchors& trust);

    [[nodiscard]] const SignedManifest& signed_manifest() const { return signed_; }
    [[nodiscard]] const BundleManifest& manifest() const { return signed_.manifest; }
    [[nodiscard]] const content::Signer& signer() const { return signed_.signer; }
    [[nodiscard]] const BundleInput& input() const { return input_; }

    /// Returns the next member whose content is in the file (absent members of a delta are skipped). Returns
    /// null after the last one. Fails with BadContent if the bytes before the member, or after the last one,
    /// are not those that the manifest implies. The pointer is valid as long as the reader.
    [[nodiscard]] base::Result<const Member*> next();
    /// Returns the input, from which the caller reads the content of the member that next() returned last.
    /// The caller may read less than Member::size: next() skips the rest. The caller compares the content
    /// with the digest; this class does not. If the bundle is in files, a copy of the input has its own
    /// position.
    [[nodiscard]] BundleInput& body() { return input_; }

  private:
    BundleReader(BundleInput input, SignedManifest bundle)
        : input_(std::move(input)), layout_(bundle.der.size()), signed_(std::move(bundle)) {}
    [[nodiscard]] base::Result<void> expect(const std::string& bytes);

    BundleInput input_;
    BundleLayout layout_;
    SignedManifest signed_;
    std::size_t member_ = 0; ///< index in the manifest of the member that next() returns next
    std::uint64_t end_ = 0;  ///< offset in the input where the member that next() returned last ends
};

} // namespace gpuhost::images
