// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace gpuhost::rpc {

/// Limits of a server. A client that exceeds one loses its call or its connection, and no other client.
struct Limits {
    std::size_t connections = 32;
    std::size_t streams = 64;         ///< calls of a connection that are open at a time
    std::size_t message = 4U << 20U;  ///< bytes of a request
    std::size_t headers = 16U << 10U; ///< bytes of the headers of a request
    std::size_t incoming = 8U << 20U; ///< bytes of incomplete requests of a connection
    std::size_t outgoing = 8U << 20U; ///< bytes of a connection's answers that the client has not read yet
    unsigned resets = 200;            ///< calls that a client cancels in 10 seconds
    unsigned control_frames = 1'000;  ///< PING, SETTINGS and the like in 10 seconds, without a message
    /// For the first frames of a connection, for a complete request after its beginning, and for a client to
    /// read something of the bytes that wait for it.
    std::chrono::microseconds patience = std::chrono::seconds(10);
};

} // namespace gpuhost::rpc
