// SPDX-License-Identifier: Apache-2.0
#include "images/peers/peers.hpp"

#include "daemon/base/page_buffer.hpp"
#include "images/peers_settings.hpp"
#include "images/registry/peer_service.hpp"
#include "images/store/generations.hpp"

#include <algorithm>
#include <cerrno>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::Root;

namespace {

constexpr std::size_t read_bytes = 1U << 20U;
constexpr std::size_t most_untrusted = 10;

/// Returns the manifest of the installed bundle `name`; nothing if it is not installed, or if its signature
/// is not valid.
std::optional<SignedManifest> present_bundle(const Root& root, const std::string& name,
                                             const content::TrustAnchors& trust) {
    auto der = Catalogue(root).signed_manifest(name);
    if (!der)
        return std::nullopt;
    auto bundle = verify_manifest(*std::move(der), trust, "bundle '" + name + "'");
    return bundle ? std::optional(*std::move(bundle)) : std::nullopt;
}

/// Returns the least generation that an import would accept. Manifests of older generations are not
/// requested.
std::uint64_t least_generation(const Root& root, const std::string& name) {
    const auto record = Catalogue(root).record(name);
    if (record && record->is_signed())
        return record->generation;
    return removed_generation(root, name).value_or(0);
}

/// Adds the first `size` bytes of a file to `hash`. Returns false if the file has fewer bytes or cannot be
/// read.
bool hash_file(const Root& root, const std::string& path, std::uint64_t size, content::Sha256& hash) {
    const auto fd = root.open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fd)
        return false;
    const base::PageBuffer buffer(read_bytes);
    for (std::uint64_t done = 0; done < size;) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), size - done));
        const ssize_t n = ::pread(fd->get(), buffer.data(), most, static_cast<off_t>(done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        hash.update({buffer.data(), static_cast<std::size_t>(n)});
        done += static_cast<std::uint64_t>(n);
    }
    return true;
}

} // namespace

Peers::Peers(const Root& root, PeerClient& client, const std::vector<std::string>& names, OnNote on_note)
    : root_(root), client_(client), on_note_(std::move(on_note)) {
    for (const std::string& name : names) {
        std::string url = peer_url(name);
        const auto is_same = [&url](const Peer& peer) { return peer.url == url; };
        if (url.empty())
            on_note_("'" + name + "' is not HOST or HOST:PORT");
        else if (std::none_of(peers_.begin(), peers_.end(), is_same))
            peers_.push_back({name, std::move(url)});
    }
}

std::vector<std::string> Peers::names() const {
    std::vector<std::string> names;
    for (const Peer& peer : peers_)
        names.push_back(peer.name);
    return names;
}

void Peers::look() {
    std::vector<PeerRequest> requests;
    for (const Peer& peer : peers_)
        requests.push_back({peer.url + std::string(peer_bundles_path), 0, 0, offers_limit});
    const auto answers = client_.ask_all(requests);
    std::vector<Peer> useful;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        const PeerAnswer& answer = answers[i];
        auto offers = answer.problem.empty() ? parse_offers(answer.body, "its list of bundles", useful.size())
                                             : base::fail(Errc::Failed, answer.problem);
        if (!offers) {
            on_note_(peers_[i].name + ": " + offers.error().message);
            continue;
        }
        offers_.insert(offers_.end(), offers->begin(), offers->end());
        useful.push_back(peers_[i]);
    }
    peers_ = std::move(useful);
}

std::vector<std::string> Peers::bundles() const {
    auto names = Catalogue(root_).names().value_or(std::vector<std::string>());
    for (const Offer& offer : offers_)
        names.push_back(offer.name);
    return names;
}

Result<SignedManifest> Peers::manifest_of(const Offer& offer, const content::TrustAnchors& trust) {
    const Peer& peer = peers_[offer.peer];
    const std::string path = std::string(peer_bundles_path) + "/" + offer.name;
    PeerAnswer answer =
        client_.ask_all({{peer.url + path, 0, 0, static_cast<std::size_t>(manifest_limit)}}).front();
    if (!answer.problem.empty())
        return base::fail(Errc::Failed, peer.name + ": " + answer.problem);
    GPUHOST_TRY(bundle,
                verify_manifest(std::move(answer.body), trust, peer.name + ": bundle '" + offer.name + "'"));
    if (bundle.manifest.name != offer.name || bundle.manifest.generation != offer.generation)
        return base::fail(Errc::BadContent, peer.name + ": manifest does not match the offer: bundle '" +
                                                bundle.manifest.name + "', generation " +
                                                std::to_string(bundle.manifest.generation));
    return std::move(bundle);
}

/// Called if a peer offers a manifest but does not send a valid one. Removes all offers of the peer, because
/// each attempt may last long. Manifests with unknown signers are tolerated up to a limit: such bundles may
/// be for other hosts.
void Peers::distrust(std::size_t peer, const base::Error& error) {
    if (error.code == Errc::AccessDenied && ++peers_[peer].untrusted < most_untrusted)
        return;
    std::erase_if(offers_, [peer](const Offer& offer) { return offer.peer == peer; });
}

Result<std::optional<SignedManifest>>
Peers::choose(const std::string& name, const content::TrustAnchors& trust, const HostFacts& host) {
    GPUHOST_TRY(floor, least_generations(root_));
    const ImportPolicy policy{false, true, std::move(floor)};
    auto present = present_bundle(root_, name, trust);
    const std::uint64_t least = least_generation(root_, name);
    auto verdict = base::fail(
        Errc::NotFound,
        "no responding peer has bundle '" + name + "'" +
            (least == 0 ? "" : " of generation " + std::to_string(least) + " or newer"),
        "Check [Peers] in gpuhostd.conf(5), and that gpuhost-peers.socket is active on the peers.");
    for (const Offer& offer : best_offers(offers_, name, least)) {
        if (present && offer.generation <= present->manifest.generation)
            break; // offers are sorted: no further one is newer than the installed bundle
        auto bundle = manifest_of(offer, trust);
        if (!bundle)
            distrust(offer.peer, bundle.error());
        const auto plan = bundle ? plan_import(root_, *bundle, host, policy) : base::fail(bundle.error());
        if (plan)
            return std::optional(*std::move(bundle));
        if (plan.error().code == Errc::NoSpace)
            return base::fail(plan.error()); // an older generation needs space too
        on_note_(plan.error().message);
        verdict = base::fail(plan.error());
    }
    if (!present)
        return verdict;
    GPUHOST_TRY(plan, plan_import(root_, *present, host, policy));
    return plan.complete ? std::nullopt : std::move(present);
}

PeerRequest Peers::request_of(const BlobFetch::Part& part) const {
    return {peers_[part.peer].url + std::string(peer_blobs_path) + "/" + part.hex, part.first, part.length,
            0};
}

std::vector<BlobFetch::Wanted> wanted_blobs(const Root& root, const SignedManifest& bundle,
                                            const HostFacts& host) {
    std::vector<BlobFetch::Wanted> wanted;
    for (const Member* member : missing_members(root, bundle.manifest, host)) {
        BlobFetch::Wanted blob{member->hex, member->size, 0, content::Sha256()};
        const std::uint64_t there = std::min(received_bytes(root, bundle.digest, member->hex), member->size);
        const bool readable =
            there > 0 && hash_file(root, received_path(bundle.digest, member->hex), there, blob.before);
        // A complete file may still have wrong content, since a power cut may leave a file that is longer
        // than its valid content.
        const bool damaged = readable && there == member->size && blob.before.finish() != member->hex;
        if (readable && !damaged)
            blob.first = there;
        else
            blob.before = content::Sha256();
        wanted.push_back(std::move(blob));
    }
    return wanted;
}

} // namespace gpuhost::images
