// SPDX-License-Identifier: Apache-2.0
// Which peer brings which part of which blob, and what becomes of it: a function of what happened so far, with no network
// and no clock of its own.
//
// Blobs are cut into parts, of which a window is on its way or here at a time, so that memory is bounded; they leave in
// order, as a stream of blobs (blob_stream.hpp). A part that a peer does not bring goes to another one, and that peer is
// left alone for a while. A blob whose bytes are not those of its digest is fetched once more, from one peer alone: then
// the parts that differ say who sent the wrong ones, and nothing more is asked of him.
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
    std::uint64_t window = 32U << 20U;     ///< bytes that are here or on their way
    std::size_t parts = 64;                ///< in the window: small blobs have a part each
    std::size_t per_peer = 4;              ///< parts asked of one peer at a time
    std::size_t patience = 5;              ///< failures in a row that end a peer's part in it
    std::chrono::milliseconds rest{1'000}; ///< after a failure; twice as long after each one more
    std::chrono::milliseconds longest_rest{30'000};
    std::chrono::milliseconds hedge{2'000}; ///< then another peer is asked too for what all wait for
};

class BlobFetch {
  public:
    using Time = std::chrono::milliseconds; ///< since whenever
    using OnNote = std::function<void(const std::string&)>;

    struct Wanted {
        std::string hex;
        std::uint64_t size = 0;
        std::uint64_t first = 0; ///< what is before is there
        content::Sha256 before;  ///< was fed with that, unless it is all of it
    };
    /// `peers` are names for messages. `on_note` is told of what a person may wonder about.
    BlobFetch(std::vector<Wanted> blobs, std::vector<std::string> peers, const FetchLimits& limits,
              OnNote on_note);

    struct Part {
        std::uint64_t id = 0;
        std::size_t peer = 0;
        std::string hex;
        std::uint64_t first = 0;
        std::uint64_t length = 0; ///< never 0
    };
    /// What to ask for now; nothing: time or an answer must pass. Each is to be answered by one of the three below.
    [[nodiscard]] std::optional<Part> next(Time now);
    void came(const Part& part, std::string bytes);
    void lacks(const Part& part); ///< that peer does not have the blob
    void failed(const Part& part, const std::string& why, Time now);

    /// What comes next in the stream; empty: not here yet, or ended.
    [[nodiscard]] std::string take();
    [[nodiscard]] bool ended() const { return ended_; } ///< take() gave all of it
    /// Why it can't go on: nobody is left, or nobody has a blob.
    [[nodiscard]] base::Result<void> check() const;

  private:
    struct Peer {
        std::string name;
        bool gone = false;
        std::size_t asked = 0;    ///< parts on their way
        std::size_t failures = 0; ///< in a row
        Time rests_until{0};
        std::string why; ///< of the last failure
    };
    struct Taken { ///< who brought a part, and what to know its bytes by
        std::size_t peer = 0;
        std::size_t fingerprint = 0;
    };
    struct Blob {
        Wanted wanted;
        std::uint64_t cut = 0;         ///< up to where it is in parts
        bool framed = false;           ///< its frame was taken
        bool alone = false;            ///< one peer is to bring all of it:
        std::optional<std::size_t> by; ///< this one
        std::set<std::size_t> lacking;
        std::set<std::size_t> deserters; ///< were to bring it alone, and failed
        std::vector<Taken> taken;
        std::vector<Taken> wrong; ///< of the time before
        std::size_t tries = 0;
    };
    struct Slot {
        std::size_t blob = 0;
        std::uint64_t first = 0;
        std::uint64_t length = 0;
        std::vector<std::size_t> asked; ///< peers
        Time since{0};                  ///< of the first of them
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
    std::deque<std::size_t> waiting_; ///< blobs that are not all cut, in order
    std::deque<Slot> window_;
    std::uint64_t first_id_ = 0; ///< of the window's first slot
    std::uint64_t window_bytes_ = 0;
    base::Result<void> verdict_;
    bool ended_ = false;
};

} // namespace gpuhost::images
