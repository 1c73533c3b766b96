// SPDX-License-Identifier: Apache-2.0
// Decides which peer (another host with the same bundles) is asked for which part of a blob, and assembles
// the answers. Uses no network and no clock: the caller sends the requests, reports their results and passes
// the time.
//
// Blobs are divided into parts. The window is the list of parts that are to be requested next, are requested,
// or were received and not yet passed on. Its size is limited, which limits the memory. take() returns the
// parts in order, as a stream of blobs (images/import/blob_stream.hpp). If a request fails, another peer is
// asked for the part, and the first peer gets no requests for some time. If the digest of a complete blob is
// wrong, the whole blob is fetched again from a single peer. If its digest is right this time, the parts that
// differ identify the peers that sent wrong bytes. These get no more requests. If the blob with a wrong
// digest continued an interrupted import, it is first fetched whole from all peers.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/content/crypto/sha256.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuhost::images {

struct FetchLimits {
    std::uint64_t part = 4U << 20U;
    std::uint64_t window = 32U << 20U; ///< bytes of all parts in the window
    std::size_t parts = 64;            ///< most parts in the window; a small blob is one part
    std::size_t per_peer = 4;          ///< concurrent requests to one peer
    /// Consecutive failures of a peer after which it gets no more requests.
    std::size_t patience = 5;
    /// Time without requests to a peer after a failure; doubles with each consecutive failure.
    std::chrono::milliseconds rest{1'000};
    std::chrono::milliseconds longest_rest{30'000};
    /// If the part that take() must return next does not arrive within this time, a second peer is asked for
    /// it.
    std::chrono::milliseconds hedge{2'000};
};

class BlobFetch {
  public:
    using Time = std::chrono::milliseconds; ///< monotonic, since any fixed point
    using OnNote = std::function<void(const std::string&)>;

    struct Wanted {
        std::string hex;
        std::uint64_t size = 0;
        /// Offset of the first byte to fetch: an interrupted import left the bytes before it.
        std::uint64_t first = 0;
        content::Sha256 before; ///< hash state after these bytes; unused if `first` is `size`
    };
    /// `peers` are the names of the peers for messages; Part::peer is an index in `peers`. `on_note` receives
    /// messages for an administrator.
    BlobFetch(std::vector<Wanted> blobs, std::vector<std::string> peers, const FetchLimits& limits,
              OnNote on_note);

    struct Part {
        std::uint64_t id = 0;
        std::size_t peer = 0;
        std::string hex;
        std::uint64_t first = 0;
        std::uint64_t length = 0; ///< at least 1
    };
    /// Returns the next part to request, and from which peer. Returns nothing if no request is due: call
    /// again after an answer, or after some time. The caller reports the result of each request by exactly
    /// one of came(), lacks() and failed().
    [[nodiscard]] std::optional<Part> next(Time now);
    void came(const Part& part, std::string bytes);
    void lacks(const Part& part); ///< the peer answered that it does not have the blob
    void failed(const Part& part, const std::string& why, Time now);

    /// Returns the next bytes of the stream; empty if they have not arrived yet, or if the stream has ended.
    [[nodiscard]] std::string take();
    [[nodiscard]] bool ended() const { return ended_; } ///< true after take() returned the last bytes
    /// Fails if the fetch cannot continue: all peers are excluded, or none of the remaining peers has a
    /// certain blob, or none sends the right bytes of it. Call it after each result.
    [[nodiscard]] base::Result<void> check() const;

  private:
    struct Peer {
        std::string name;
        bool gone = false;        ///< gets no more requests
        std::size_t asked = 0;    ///< requests without an answer yet
        std::size_t failures = 0; ///< consecutive failed requests
        Time rests_until{0};
        std::string why; ///< message of the last failure
    };
    struct Received { ///< which peer sent a part, and a hash of its bytes to compare it with another copy
        std::size_t peer = 0;
        std::size_t fingerprint = 0;
    };
    struct Blob {
        Wanted wanted;
        std::uint64_t cut = 0;           ///< offset up to which parts were added to the window
        bool framed = false;             ///< take() has returned the blob's frame
        bool alone = false;              ///< the whole blob must be sent by one peer, `by`
        std::optional<std::size_t> by;   ///< the peer that sends it alone; empty: any peer may
        std::set<std::size_t> lacking;   ///< peers that do not have it
        std::set<std::size_t> deserters; ///< peers that failed to send it alone
        std::vector<Received> taken;     ///< the parts that take() returned, in order
        std::vector<Received> wrong;     ///< `taken` of the attempt that had a wrong digest
        std::size_t tries = 0;           ///< times that it was fetched again
    };
    /// A part in the window.
    struct Slot {
        std::size_t blob = 0;
        std::uint64_t first = 0;
        std::uint64_t length = 0;
        std::vector<std::size_t> asked;  ///< peers with a request for this part that has no answer yet
        Time since{0};                   ///< time of the first of these requests
        std::optional<std::size_t> from; ///< the peer that sent `bytes`; none: not received
        std::string bytes;

        [[nodiscard]] bool here() const { return from.has_value() || length == 0; }
    };

    void fill_window();
    [[nodiscard]] bool is_passed_over(std::size_t peer, const Blob& blob) const;
    [[nodiscard]] bool may_ask(std::size_t peer, const Slot& slot, Time now) const;
    [[nodiscard]] std::optional<std::size_t> choose(const Slot& slot, Time now) const;
    [[nodiscard]] Part ask(std::size_t place, std::size_t peer, Time now);
    [[nodiscard]] Slot* answered(const Part& part);
    [[nodiscard]] bool anybody_left(const std::set<std::size_t>& without) const;
    void end_blob(std::size_t index);
    void repeat(std::size_t index);
    void blame(const Blob& blob);
    void give_up(std::size_t peer, const std::string& why);

    FetchLimits limits_;
    OnNote on_note_;
    std::vector<Peer> peers_;
    std::vector<Blob> blobs_;
    /// Indexes of blobs with parts that are not yet in the window, in order.
    std::deque<std::size_t> waiting_;
    std::deque<Slot> window_;
    std::uint64_t first_id_ = 0; ///< Part::id of the window's first slot
    std::uint64_t window_bytes_ = 0;
    base::Result<void> verdict_; ///< an error that check() returns
    bool ended_ = false;
};

} // namespace gpuhost::images
