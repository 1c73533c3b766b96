// SPDX-License-Identifier: Apache-2.0
// PeerClient without a network, in place of images/peers/peer_client.cpp: what is asked, and what comes of it, is the test's.
#pragma once

#include "images/peers/peer_client.hpp"

#include <functional>
#include <optional>

namespace gpuhost::tests {

struct FakeNetwork {
    /// Nothing: not yet. It is asked again with each wait.
    std::function<std::optional<images::PeerAnswer>(const images::PeerRequest&)> answer;
    /// Before each wait's answers: time may pass. Told what is waited for beside them.
    std::function<void(std::chrono::milliseconds most, int writable)> wait;
};

/// That of all clients.
inline FakeNetwork network; // NOLINT: a seam at link time has no other place for it

} // namespace gpuhost::tests
