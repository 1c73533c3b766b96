// SPDX-License-Identifier: Apache-2.0
// Reads a bundle once, from its first byte to its last. Verifies the signature before it uses anything, and
// accepts nothing that the manifest does not list.
#pragma once

#include "daemon/content/crypto/cms.hpp"
#include "images/bundle/input.hpp"
#include "images/bundle/layout.hpp"
#include "images/bundle/signed_manifest.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace gpuhost::images {

/// Reads and verifies the beginning of a bundle. Reads no byte after the signed manifest.
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

    /// Returns the next member in this file; null at the end, where nothing may follow. The pointer is valid
    /// as long as the reader.
    [[nodiscard]] base::Result<const Member*> next();
    /// Returns the input at that member's first byte. The next call of next() skips unread bytes. The bytes
    /// are not compared with the digest. A copy of the input reads files independently.
    [[nodiscard]] BundleInput& body() { return input_; }

  private:
    BundleReader(BundleInput input, SignedManifest bundle)
        : input_(std::move(input)), layout_(bundle.der.size()), signed_(std::move(bundle)) {}
    [[nodiscard]] base::Result<void> expect(const std::string& bytes);

    BundleInput input_;
    BundleLayout layout_;
    SignedManifest signed_;
    std::size_t member_ = 0; ///< index of the member that next() returns
    std::uint64_t end_ = 0;  ///< of the member that next() returned last
};

} // namespace gpuhost::images
