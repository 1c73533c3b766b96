// SPDX-License-Identifier: Apache-2.0
#include "images/peers/blob_fetch.hpp"

#include "images/import/blob_stream.hpp"

#include <algorithm>

namespace gpuhost::images {

using base::Errc;
using base::Result;

BlobFetch::BlobFetch(std::vector<Wanted> blobs, std::vector<std::string> peers, const FetchLimits& limits,
                     OnNote on_note)
    : limits_(limits), on_note_(std::move(on_note)) {
    for (std::string& name : peers)
        peers_.emplace_back().name = std::move(name);
    for (Wanted& wanted : blobs) {
        waiting_.push_back(blobs_.size());
        Blob blob;
        blob.cut = wanted.first;
        blob.wanted = std::move(wanted);
        blobs_.push_back(std::move(blob));
    }
}

// --- requests

void BlobFetch::fill_window() {
    while (!waiting_.empty() && window_bytes_ < limits_.window && window_.size() < limits_.parts) {
        const std::size_t index = waiting_.front();
        Blob& blob = blobs_[index];
        Slot slot;
        slot.blob = index;
        slot.first = blob.cut;
        slot.length = std::min(limits_.part, blob.wanted.size - blob.cut);
        blob.cut += slot.length;
        window_bytes_ += slot.length;
        window_.push_back(std::move(slot));
        if (blob.cut == blob.wanted.size)
            waiting_.pop_front();
    }
}

/// Reports whether a peer must not be asked for a blob, because it was to send the whole blob alone and
/// failed. Such a peer is asked again only if no other peer is left. Otherwise a peer that sends wrong bytes
/// and then fails could prevent all other peers from sending the whole blob.
bool BlobFetch::is_passed_over(std::size_t peer, const Blob& blob) const {
    if (blob.deserters.count(peer) == 0)
        return false;
    auto without = blob.lacking;
    without.insert(blob.deserters.begin(), blob.deserters.end());
    return anybody_left(without);
}

bool BlobFetch::may_ask(std::size_t peer, const Slot& slot, Time now) const {
    const Peer& one = peers_[peer];
    const Blob& blob = blobs_[slot.blob];
    return !one.gone && one.rests_until <= now && one.asked < limits_.per_peer &&
           blob.lacking.count(peer) == 0 && (!blob.by || *blob.by == peer) && !is_passed_over(peer, blob) &&
           std::find(slot.asked.begin(), slot.asked.end(), peer) == slot.asked.end();
}

/// Returns the peer for the next request for this part: the one with the fewest open requests. Returns
/// nothing if none may be asked now.
std::optional<std::size_t> BlobFetch::choose(const Slot& slot, Time now) const {
    std::optional<std::size_t> best;
    for (std::size_t peer = 0; peer < peers_.size(); ++peer)
        if (may_ask(peer, slot, now) && (!best || peers_[peer].asked < peers_[*best].asked))
            best = peer;
    return best;
}

BlobFetch::Part BlobFetch::ask(std::size_t place, std::size_t peer, Time now) {
    Slot& slot = window_[place];
    Blob& blob = blobs_[slot.blob];
    if (slot.asked.empty())
        slot.since = now;
    slot.asked.push_back(peer);
    ++peers_[peer].asked;
    if (blob.alone)
        blob.by = peer;
    return {first_id_ + place, peer, blob.wanted.hex, slot.first, slot.length};
}

std::optional<BlobFetch::Part> BlobFetch::next(Time now) {
    fill_window();
    for (std::size_t place = 0; place < window_.size(); ++place) {
        const Slot& slot = window_[place];
        if (slot.here() || !slot.asked.empty())
            continue;
        if (const auto peer = choose(slot, now))
            return ask(place, *peer, now);
    }
    if (window_.empty() || window_.front().here())
        return std::nullopt;
    const Slot& first = window_.front();
    if (first.asked.size() == 1 && first.since + limits_.hedge <= now)
        if (const auto peer = choose(first, now))
            return ask(0, *peer, now);
    return std::nullopt;
}

// --- results

/// Ends a request. Returns the slot of its part; null if the part is not needed any more, because another
/// peer sent it.
BlobFetch::Slot* BlobFetch::answered(const Part& part) {
    --peers_[part.peer].asked;
    if (part.id < first_id_)
        return nullptr; // another peer sent it, and take() has returned it
    Slot& slot = window_[static_cast<std::size_t>(part.id - first_id_)];
    std::erase(slot.asked, part.peer);
    return slot.here() ? nullptr : &slot;
}

void BlobFetch::came(const Part& part, std::string bytes) {
    Slot* const slot = answered(part);
    if (slot == nullptr || peers_[part.peer].gone)
        return;
    peers_[part.peer].failures = 0;
    slot->from = part.peer;
    slot->bytes = std::move(bytes);
}

void BlobFetch::lacks(const Part& part) {
    const Slot* const slot = answered(part);
    if (slot == nullptr)
        return;
    Blob& blob = blobs_[slot->blob];
    blob.lacking.insert(part.peer);
    if (blob.by == part.peer)
        blob.by.reset();
}

void BlobFetch::failed(const Part& part, const std::string& why, Time now) {
    const Slot* const slot = answered(part);
    if (slot != nullptr && blobs_[slot->blob].by == part.peer) {
        blobs_[slot->blob].by.reset();
        blobs_[slot->blob].deserters.insert(part.peer);
    }
    Peer& peer = peers_[part.peer];
    if (peer.gone || peer.rests_until > now)
        return; // concurrent requests to a peer fail together, so this failure was counted already
    ++peer.failures;
    peer.why = why;
    if (peer.failures >= limits_.patience)
        return give_up(part.peer, why);
    const auto rest = limits_.rest * (1U << (peer.failures - 1));
    peer.rests_until = now + std::min<Time>(rest, limits_.longest_rest);
    if (peer.failures == 1)
        on_note_(peer.name + ": " + why + "; continuing with other peers");
}

void BlobFetch::give_up(std::size_t peer, const std::string& why) {
    Peer& one = peers_[peer];
    if (one.gone)
        return;
    one.gone = true;
    one.why = why;
    on_note_(one.name + ": " + why + "; no more requests to this peer");
    for (Slot& slot : window_)
        if (slot.from == peer) {
            slot.from.reset();
            slot.bytes.clear();
        }
    for (Blob& blob : blobs_)
        if (blob.by == peer)
            blob.by.reset();
}

bool BlobFetch::anybody_left(const std::set<std::size_t>& without) const {
    for (std::size_t peer = 0; peer < peers_.size(); ++peer)
        if (!peers_[peer].gone && without.count(peer) == 0)
            return true;
    return false;
}

Result<void> BlobFetch::check() const {
    if (!verdict_)
        return verdict_;
    for (const Slot& slot : window_) {
        const Blob& blob = blobs_[slot.blob];
        if (slot.here() || anybody_left(blob.lacking))
            continue;
        if (anybody_left({}))
            return base::fail(Errc::NotFound, "no responding peer has blob sha256:" + blob.wanted.hex,
                              "Import the bundle from its file on one of the hosts.");
        std::string why;
        for (const Peer& peer : peers_)
            why += (why.empty() ? "" : "; ") + peer.name + ": " + peer.why;
        return base::fail(Errc::Failed, "no peer is left: " + why,
                          "Fetch the bundle again; it continues with the data received so far.");
    }
    return {};
}

// --- the stream

std::string BlobFetch::take() {
    fill_window();
    if (window_.empty()) {
        if (ended_ || !waiting_.empty())
            return {};
        ended_ = true;
        return last_blob_frame();
    }
    Slot& slot = window_.front();
    Blob& blob = blobs_[slot.blob];
    if (!slot.here())
        return {};
    if (!blob.framed) {
        blob.framed = true;
        return blob_frame(blob.wanted.hex, blob.wanted.first);
    }
    const std::size_t index = slot.blob;
    std::string bytes = std::move(slot.bytes);
    if (slot.length > 0) {
        blob.wanted.before.update(bytes);
        blob.taken.push_back({*slot.from, std::hash<std::string>()(bytes)});
    }
    const bool last = slot.first + slot.length == blob.wanted.size;
    window_bytes_ -= slot.length;
    window_.pop_front();
    ++first_id_;
    if (last)
        end_blob(index);
    return bytes.empty() ? take() : bytes;
}

/// Checks the digest of a blob whose last part was passed on. A blob that was complete before the fetch is
/// not checked here: the import hashes it.
void BlobFetch::end_blob(std::size_t index) {
    Blob& blob = blobs_[index];
    const bool resumed = blob.wanted.first > 0;
    if (resumed && blob.wanted.first == blob.wanted.size)
        return;
    if (blob.wanted.before.finish() == blob.wanted.hex)
        return blame(blob);
    if (resumed)
        on_note_("blob sha256:" + blob.wanted.hex +
                 ": digest mismatch with the part received earlier; fetching all of it");
    else
        on_note_("blob sha256:" + blob.wanted.hex + ": digest mismatch; fetching it again from one peer");
    std::set<std::size_t> brought;
    for (const Received& taken : blob.taken)
        brought.insert(taken.peer);
    if (!resumed && brought.size() == 1)
        give_up(*brought.begin(), "sent wrong bytes of blob sha256:" + blob.wanted.hex);
    blob.alone = !resumed;
    blob.wrong = resumed ? std::vector<Received>() : std::move(blob.taken);
    repeat(index);
}

void BlobFetch::repeat(std::size_t index) {
    Blob& blob = blobs_[index];
    if (++blob.tries > 2 * peers_.size() + 2) { // limits the attempts, since peers may be excluded in between
        verdict_ = base::fail(Errc::BadContent,
                              "blob sha256:" + blob.wanted.hex + ": no peer sends the right bytes");
        return;
    }
    blob.wanted.first = blob.cut = 0;
    blob.wanted.before = content::Sha256();
    blob.framed = false;
    blob.by.reset();
    blob.taken.clear();
    // If parts of the first waiting blob are in the window already, the rest of that blob must follow first.
    const bool begun =
        !waiting_.empty() && blobs_[waiting_.front()].cut != blobs_[waiting_.front()].wanted.first;
    waiting_.insert(waiting_.begin() + (begun ? 1 : 0), index);
}

/// Excludes the peers that sent wrong parts in the earlier attempt: those parts differ from the ones that
/// just gave the right digest.
void BlobFetch::blame(const Blob& blob) {
    for (std::size_t i = 0; i < std::min(blob.wrong.size(), blob.taken.size()); ++i)
        if (blob.wrong[i].fingerprint != blob.taken[i].fingerprint)
            give_up(blob.wrong[i].peer, "sent wrong bytes of blob sha256:" + blob.wanted.hex);
}

} // namespace gpuhost::images
