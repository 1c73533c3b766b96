// SPDX-License-Identifier: Apache-2.0
// The peers of this host: which bundles they have, and which of these this host takes.
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

    /// `names` as in the settings; `root` and `client` must outlive it. `on_note` is told which peers are of no use now.
    Peers(const base::Root& root, PeerClient& client, const std::vector<std::string>& names, OnNote on_note);

    [[nodiscard]] bool empty() const { return peers_.empty(); }
    [[nodiscard]] std::vector<std::string> names() const;
    /// Asks all of them what they have. Those that do not answer are not asked for anything else.
    void look();
    /// What any of them has, and what is here already.
    [[nodiscard]] std::vector<std::string> bundles() const;

    /// The manifest of the newest generation that this host takes, or of the one that is here and lacks blobs; nothing
    /// where there is neither, since all of it is here.
    [[nodiscard]] base::Result<std::optional<SignedManifest>>
    choose(const std::string& name, const content::TrustAnchors& trust, const HostFacts& host);
    [[nodiscard]] PeerRequest request_of(const BlobFetch::Part& part) const;

  private:
    struct Peer {
        std::string name;
        std::string url;
        std::size_t untrusted = 0; ///< bundles that it has, but of signers whom this host does not trust
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

/// What this host lacks of it, with what an import that was interrupted left.
[[nodiscard]] std::vector<BlobFetch::Wanted>
wanted_blobs(const base::Root& root, const SignedManifest& bundle, const HostFacts& host);

} // namespace gpuhost::images
