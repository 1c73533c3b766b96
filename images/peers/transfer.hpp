// SPDX-License-Identifier: Apache-2.0
// Transfers one bundle from peers into the pipe of an import.
#pragma once

#include "images/peers/peers.hpp"
#include "images/peers/rate_watchdog.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::images {

class Transfer {
  public:
    using Clock = std::function<std::chrono::milliseconds()>;

    /// `beginning` is written before the blobs. `peers` and `client` must outlive the object.
    Transfer(Peers& peers, PeerClient& client, BlobFetch fetch, std::string beginning, Clock clock)
        : peers_(peers), client_(client), fetch_(std::move(fetch)), out_(std::move(beginning)),
          clock_(std::move(clock)), pace_(clock_()) {}

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
    RateWatchdog pace_;
    std::map<std::uint64_t, BlobFetch::Part> in_flight_;
};

} // namespace gpuhost::images
