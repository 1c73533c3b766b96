// SPDX-License-Identifier: Apache-2.0
// The peers of this host: other hosts of the site that share bundles. Requests the lists of their bundles,
// and chooses the generation of a bundle to import.
#pragma once

#include "images/import/import.hpp"
#include "images/peers/blob_fetch.hpp"
#include "images/peers/offers.hpp"
#include "images/peers/peer_client.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::images {

class Peers {
  public:
    using OnNote = std::function<void(const std::string&)>;

    /// `names` are those of [Peers] Peers=. `on_note` receives messages about peers that cannot be used.
    /// `root` and `client` must outlive the object.
    Peers(const base::Root& root, PeerClient& client, const std::vector<std::string>& names, OnNote on_note);

    [[nodiscard]] bool empty() const { return peers_.empty(); }
    [[nodiscard]] std::vector<std::string> names() const;
    /// Requests the lists of bundles of all peers and waits for the answers. Removes peers without a valid
    /// answer.
    void look();
    /// Returns the names of all bundles on this host and in the peers' lists; a name may occur several times.
    [[nodiscard]] std::vector<std::string> bundles() const;

    /// Chooses the generation of bundle `name` to import, and returns its verified manifest. Chooses the
    /// newest generation on a peer that is newer than the installed one and may be imported here. Without
    /// such a generation, chooses the installed one if blobs of it are missing, and returns nothing if it is
    /// complete. Fails if there is neither such a generation nor an installed one.
    [[nodiscard]] base::Result<std::optional<SignedManifest>>
    choose(const std::string& name, const content::TrustAnchors& trust, const HostFacts& host);
    /// Returns the HTTP request for a part of a blob.
    [[nodiscard]] PeerRequest request_of(const BlobFetch::Part& part) const;

  private:
    struct Peer {
        std::string name;
        std::string url;
        std::size_t untrusted = 0; ///< number of its manifests so far whose signer this host does not trust
    };
    [[nodiscard]] base::Result<SignedManifest> manifest_of(const Offer& offer,
                                                           const content::TrustAnchors& trust);
    void distrust(std::size_t peer, const base::Error& error);

    const base::Root& root_;
    PeerClient& client_;
    OnNote on_note_;
    std::vector<Peer> peers_;
    std::vector<Offer> offers_;
};

/// Returns the blobs of a bundle that this host needs and lacks. For each, reads the bytes that an
/// interrupted import left, so that only the rest is fetched.
[[nodiscard]] std::vector<BlobFetch::Wanted>
wanted_blobs(const base::Root& root, const SignedManifest& bundle, const HostFacts& host);

} // namespace gpuhost::images
