// SPDX-License-Identifier: Apache-2.0
// One bundle's bytes, from peers to the pipe of an import.
#pragma once

#include "images/peers/pace.hpp"
#include "images/peers/peers.hpp"

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

    /// `beginning` is what is written before the blobs. `peers` and `client` must outlive it.
    Transfer(Peers& peers, PeerClient& client, BlobFetch fetch, std::string beginning, Clock clock)
        : peers_(peers), client_(client), fetch_(std::move(fetch)), out_(std::move(beginning)),
          clock_(std::move(clock)), pace_(clock_()) {}

    /// Until all of it is in the pipe, which does not block. A reader that went away is no error here: its operation says
    /// why. Timeout: what comes is not worth the wait.
    [[nodiscard]] base::Result<void> run(int pipe);

  private:
    [[nodiscard]] base::Result<bool> write(int pipe);
    void take(PeerAnswer& answer);

    Peers& peers_;
    PeerClient& client_;
    BlobFetch fetch_;
    std::string out_;
    std::size_t written_ = 0; ///< of it
    Clock clock_;
    Pace pace_;
    std::map<std::uint64_t, BlobFetch::Part> asked_;
};

} // namespace gpuhost::images
