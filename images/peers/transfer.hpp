// SPDX-License-Identifier: Apache-2.0
// Transfers one bundle from peers into the pipe of an import.
#pragma once

#include "images/peers/peers.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::images {

/// Detects transfers that are too slow to wait for. An import blocks all other operations of the daemon
/// meanwhile.
class RateWatchdog {
  public:
    using Time = std::chrono::milliseconds; ///< since any fixed point
    static constexpr Time period{120'000};
    static constexpr std::uint64_t least = 8U << 20U; ///< bytes in each period

    explicit RateWatchdog(Time now) : since_(now), last_(now) {}

    void received(std::uint64_t bytes) { bytes_ += bytes; }
    /// Call it often. Time counts only while the receiver `waits` for bytes.
    [[nodiscard]] bool is_too_slow(Time now, bool waits) {
        if (!waits)
            since_ += now - last_;
        last_ = now;
        if (now - since_ < period)
            return false;
        const bool slow = bytes_ < least;
        since_ = now;
        bytes_ = 0;
        return slow;
    }

  private:
    Time since_; ///< start of the period, moved forward by the time that does not count
    Time last_;
    std::uint64_t bytes_ = 0;
};

class Transfer {
  public:
    using Clock = std::function<std::chrono::milliseconds()>;

    /// `beginning` is written before the blobs. `peers` and `client` must outlive the object.
    Transfer(Peers& peers, PeerClient& client, BlobFetch fetch, std::string beginning, Clock clock)
        : peers_(peers), client_(client), fetch_(std::move(fetch)), out_(std::move(beginning)),
          clock_(std::move(clock)), watchdog_(clock_()) {}

    /// Runs until everything is in the pipe, which must be non-blocking. Succeeds if the reader closes the
    /// pipe: its operation reports the reason. Fails with Timeout if the peers are too slow.
    [[nodiscard]] base::Result<void> run(int pipe);

  private:
    [[nodiscard]] base::Result<bool> write(int pipe);
    void take(PeerAnswer& answer);

    Peers& peers_;
    PeerClient& client_;
    BlobFetch fetch_;
    std::string out_;
    std::size_t written_ = 0; ///< bytes of out_
    Clock clock_;
    RateWatchdog watchdog_;
    std::map<std::uint64_t, BlobFetch::Part> in_flight_;
};

} // namespace gpuhost::images
