// SPDX-License-Identifier: Apache-2.0
// Fetches one bundle from peers and writes it to a pipe, from which the daemon's import reads it.
#pragma once

#include "images/peers/peers.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::images {

/// Detects that peers send less than `least` bytes in a `period`. Such a transfer must end, because an import
/// blocks all other operations of the daemon.
class RateWatchdog {
  public:
    using Time = std::chrono::milliseconds; ///< monotonic, since any fixed point
    static constexpr Time period{120'000};
    static constexpr std::uint64_t least = 8U << 20U; ///< bytes that peers must send in each period

    explicit RateWatchdog(Time now) : since_(now), last_(now) {}

    void received(std::uint64_t bytes) { bytes_ += bytes; }
    /// Reports whether the transfer is too slow. Call it several times a second. `waits`: whether the import
    /// waits for bytes of the peers. Time during which it does not wait is not counted.
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
    Time since_; ///< start of the current period, moved forward by the time that is not counted
    Time last_;
    std::uint64_t bytes_ = 0; ///< received in the current period
};

class Transfer {
  public:
    using Clock = std::function<std::chrono::milliseconds()>;

    /// `beginning` is the beginning of the bundle with its signed manifest. It is written to the pipe before
    /// the blobs. `peers` and `client` must outlive the object.
    Transfer(Peers& peers, PeerClient& client, BlobFetch fetch, std::string beginning, Clock clock)
        : peers_(peers), client_(client), fetch_(std::move(fetch)), out_(std::move(beginning)),
          clock_(std::move(clock)), watchdog_(clock_()) {}

    /// Writes the whole stream to `pipe`, which must be non-blocking. If the import closes the pipe early,
    /// returns success: the import's own result says why. Fails with Timeout if the peers are too slow. If
    /// BlobFetch::check() fails, fails with the same error.
    [[nodiscard]] base::Result<void> run(int pipe);

  private:
    [[nodiscard]] base::Result<bool> write(int pipe);
    void take(PeerAnswer& answer);

    Peers& peers_;
    PeerClient& client_;
    BlobFetch fetch_;
    std::string out_;         ///< the next bytes for the pipe
    std::size_t written_ = 0; ///< bytes of out_ that are in the pipe
    Clock clock_;
    RateWatchdog watchdog_;
    std::map<std::uint64_t, BlobFetch::Part> in_flight_; ///< requests without an answer, by PeerClient's id
};

} // namespace gpuhost::images
