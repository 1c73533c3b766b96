// SPDX-License-Identifier: Apache-2.0
// Implements PeerClient without a network, in place of images/peers/peer_client.cpp. The test sees the
// requests and sets the answers.
#pragma once

#include "images/peers/peer_client.hpp"

#include <functional>
#include <optional>

namespace gpuhost::tests {

struct FakeNetwork {
    /// Returns the answer to a request; no value: not yet. Called again at each wait.
    std::function<std::optional<images::PeerAnswer>(const images::PeerRequest&)> answer;
    /// Called before the answers of each wait, so that the test can advance the time. Gets the wait's
    /// arguments.
    std::function<void(std::chrono::milliseconds most, int writable)> wait;
};

/// Shared by all clients.
inline FakeNetwork network; // NOLINT: replaced at link time, so it must be global

} // namespace gpuhost::tests
