// SPDX-License-Identifier: Apache-2.0
// Connections that libcurl shares among transfers.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/http/tls_files.hpp"
#include "daemon/http/transfer.hpp"

#include <cstdint>
#include <map>
#include <memory>

#include <curl/curl.h>
#include <sys/epoll.h>

namespace gpuhost::http {

using Multi = base::CHandle<CURLM, curl_multi_cleanup>;

/// One generation of connections, with the transfers on them. libcurl keeps a multiplexed connection on which
/// a transfer has timed out, and would send the next request on it. Therefore each generation has a multi
/// handle of its own.
struct Connections {
    unsigned number = 0;
    int poll = -1; ///< epoll descriptor of the client; the data of an event are `number` and a descriptor
    std::shared_ptr<const TlsFiles> tls;
    Clock::time_point heard{}; ///< time of the last byte received, of any transfer
    /// HTTP/1: libcurl itself closes the connection of a transfer that has timed out.
    bool one_request_each = false;
    bool given_up = false; ///< the connections are silent: collect() ends all their transfers
    base::UniqueFd timer;
    Multi multi; ///< calls on_socket() when it is freed
    std::map<std::uint64_t, std::unique_ptr<Transfer>> running;

    Connections() = default;
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;
    ~Connections();

    /// Makes the timer and the handle of libcurl. The object must stay where it is. On failure errno is set.
    [[nodiscard]] bool start(std::size_t most_idle_connections);
    [[nodiscard]] epoll_event event(unsigned events, int fd) const;
    /// Sets the timer; a negative time stops it.
    void arm(long ms) const;
    /// Ends a transfer without an answer; does nothing for the id of another generation.
    void remove(std::uint64_t id);
};

} // namespace gpuhost::http
