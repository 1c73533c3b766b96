// SPDX-License-Identifier: Apache-2.0
// Reads a bundle once, from its first byte to its last. Nothing of it is believed before its signature is verified,
// and nothing that its manifest does not say is in it is accepted.
#pragma once

#include "daemon/content/crypto/cms.hpp"
#include "images/bundle/input.hpp"
#include "images/bundle/layout.hpp"
#include "images/bundle/signed_manifest.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace gpuhost::images {

/// Reads and verifies what a bundle begins with; no byte behind it.
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

    /// The next member that is in this file; null at the end, when nothing may follow. The pointer is valid as long
    /// as the reader.
    [[nodiscard]] base::Result<const Member*> next();
    /// Stands at that member's first byte; what is not read of it next() skips. What is read is not checked against the
    /// digest. Of files, a copy of it goes its own way.
    [[nodiscard]] BundleInput& body() { return input_; }

  private:
    BundleReader(BundleInput input, SignedManifest bundle)
        : input_(std::move(input)), layout_(bundle.der.size()), signed_(std::move(bundle)) {}
    [[nodiscard]] base::Result<void> expect(const std::string& bytes);

    BundleInput input_;
    BundleLayout layout_;
    SignedManifest signed_;
    std::size_t member_ = 0; ///< that next() looks at next
    std::uint64_t end_ = 0;  ///< of the member that next() gave
};

} // namespace gpuhost::images
