// SPDX-License-Identifier: Apache-2.0
// Assigns the parts of blobs to peers and assembles the results. The state depends on past events alone:
// there is no network and no clock here.
//
// Blobs are cut into parts. A window limits the parts in flight or received, and therefore memory. Parts
// leave in order, as a stream of blobs (blob_stream.hpp). If a peer fails to send a part, another peer is
// asked, and the first one rests for a while. If a blob's digest is wrong, the blob is fetched again from one
// peer alone. The parts that differ then identify the peer that sent wrong bytes, which gets no more
// requests.
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
    std::uint64_t window = 32U << 20U;     ///< bytes received or in flight
    std::size_t parts = 64;                ///< in the window: a small blob is one part
    std::size_t per_peer = 4;              ///< concurrent requests to one peer
    std::size_t patience = 5;              ///< consecutive failures after which a peer is dropped
    std::chrono::milliseconds rest{1'000}; ///< after a failure; doubles with each further one
    std::chrono::milliseconds longest_rest{30'000};
    /// After this time, a second peer is asked for the part that the stream waits for.
    std::chrono::milliseconds hedge{2'000};
};

class BlobFetch {
  public:
    using Time = std::chrono::milliseconds; ///< since any fixed point
    using OnNote = std::function<void(const std::string&)>;

    struct Wanted {
        std::string hex;
        std::uint64_t size = 0;
        std::uint64_t first = 0; ///< earlier bytes are present
        content::Sha256 before;  ///< hash of these, unless the blob is complete
    };
    /// `peers` are names for messages. `on_note` receives messages for an administrator.
    BlobFetch(std::vector<Wanted> blobs, std::vector<std::string> peers, const FetchLimits& limits,
              OnNote on_note);

    struct Part {
        std::uint64_t id = 0;
        std::size_t peer = 0;
        std::string hex;
        std::uint64_t first = 0;
        std::uint64_t length = 0; ///< at least 1
    };
    /// Returns the next request; nothing until time passes or an answer arrives. Each request must end with
    /// one of the three calls below.
    [[nodiscard]] std::optional<Part> next(Time now);
    void came(const Part& part, std::string bytes);
    void lacks(const Part& part); ///< the peer does not have the blob
    void failed(const Part& part, const std::string& why, Time now);

    /// Returns the next bytes of the stream; empty if they are not here yet, or after the end.
    [[nodiscard]] std::string take();
    [[nodiscard]] bool ended() const { return ended_; } ///< take() has returned everything
    /// Fails if the fetch cannot continue: no peer is left, or no peer has one of the blobs.
    [[nodiscard]] base::Result<void> check() const;

  private:
    struct Peer {
        std::string name;
        bool gone = false;
        std::size_t asked = 0;    ///< requests in flight
        std::size_t failures = 0; ///< consecutive
        Time rests_until{0};
        std::string why; ///< reason of the last failure
    };
    struct Received { ///< the sender of a part, and a hash to compare its bytes
        std::size_t peer = 0;
        std::size_t fingerprint = 0;
    };
    struct Blob {
        Wanted wanted;
        std::uint64_t cut = 0;         ///< offset up to which it is cut into parts
        bool framed = false;           ///< the frame is in the stream
        bool alone = false;            ///< must be sent by one peer:
        std::optional<std::size_t> by; ///< this one
        std::set<std::size_t> lacking;
        std::set<std::size_t> deserters; ///< failed to send it alone
        std::vector<Received> taken;
        std::vector<Received> wrong; ///< from the failed attempt
        std::size_t tries = 0;
    };
    struct Slot {
        std::size_t blob = 0;
        std::uint64_t first = 0;
        std::uint64_t length = 0;
        std::vector<std::size_t> asked; ///< peers with an open request
        Time since{0};                  ///< time of the first request
        std::optional<std::size_t> from;
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
    std::deque<std::size_t> waiting_; ///< blobs not completely cut, in order
    std::deque<Slot> window_;
    std::uint64_t first_id_ = 0; ///< of the window's first slot
    std::uint64_t window_bytes_ = 0;
    base::Result<void> verdict_;
    bool ended_ = false;
};

} // namespace gpuhost::images
