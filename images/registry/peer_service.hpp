// SPDX-License-Identifier: Apache-2.0
// The HTTPS service for other hosts of the site (peers): the list of this host's signed bundles, their
// manifests, and their blobs. Blobs and names of unsigned bundles are not served.
//
//   GET /gpuhost/v1/bundles        {"bundles": [{"name", "generation"}…]}
//   GET /gpuhost/v1/bundles/NAME   the signed manifest, unchanged
//   GET /gpuhost/v1/blobs/HEX      a blob, or the part in the Range header
#pragma once

#include "daemon/base/root.hpp"
#include "images/create/inventory.hpp"
#include "images/registry/service.hpp"
#include "images/store/cached_catalogue.hpp"

namespace gpuhost::images {

inline constexpr std::string_view peer_bundles_path = "/gpuhost/v1/bundles";
inline constexpr std::string_view peer_blobs_path = "/gpuhost/v1/blobs";

/// The set of blobs in the store that belong to signed bundles. Needs 32 bytes of memory for each blob.
class SignedBlobs {
  public:
    [[nodiscard]] static base::Result<SignedBlobs> load(const base::Root& root);
    [[nodiscard]] bool has(std::string_view hex) const { return blobs_.has(hex); }

  private:
    BlobSet blobs_;
};

class PeerService : public RegistryService {
  public:
    /// `root` must outlive the object.
    explicit PeerService(const base::Root& root) : root_(root), blobs_(root) {}

    [[nodiscard]] RegistryAnswer answer(const RegistryCall& call) override;
    [[nodiscard]] RegistryMetrics& metrics() override { return metrics_; }

  private:
    [[nodiscard]] RegistryResult<RegistryAnswer> respond(const RegistryCall& call);
    [[nodiscard]] RegistryResult<RegistryAnswer> blob(const RegistryCall& call, const std::string& hex);
    [[nodiscard]] RegistryResult<RegistryAnswer> bundles() const;
    [[nodiscard]] RegistryResult<RegistryAnswer> manifest(const std::string& name) const;

    const base::Root& root_;
    CachedCatalogue<SignedBlobs> blobs_;
    RegistryMetrics metrics_;
};

} // namespace gpuhost::images
