// SPDX-License-Identifier: Apache-2.0
// The peers of this host: the bundles that they have, and the choice for this host.
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

    /// `names` as in the settings. `on_note` receives messages about unusable peers. `root` and `client` must
    /// outlive the object.
    Peers(const base::Root& root, PeerClient& client, const std::vector<std::string>& names, OnNote on_note);

    [[nodiscard]] bool empty() const { return peers_.empty(); }
    [[nodiscard]] std::vector<std::string> names() const;
    /// Asks all peers for their bundles. Drops peers that do not answer.
    void look();
    /// Returns the names of all bundles on peers and on this host.
    [[nodiscard]] std::vector<std::string> bundles() const;

    /// Returns the manifest of the newest generation that this host may import, or of the installed one if it
    /// lacks blobs. Returns nothing if the installed one is complete.
    [[nodiscard]] base::Result<std::optional<SignedManifest>>
    choose(const std::string& name, const content::TrustAnchors& trust, const HostFacts& host);
    [[nodiscard]] PeerRequest request_of(const BlobFetch::Part& part) const;

  private:
    struct Peer {
        std::string name;
        std::string url;
        std::size_t untrusted = 0; ///< its bundles with signers that this host does not trust
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

/// Returns the blobs that this host lacks, with the bytes that an interrupted import left.
[[nodiscard]] std::vector<BlobFetch::Wanted>
wanted_blobs(const base::Root& root, const SignedManifest& bundle, const HostFacts& host);

} // namespace gpuhost::images
