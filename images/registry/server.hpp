// SPDX-License-Identifier: Apache-2.0
// An HTTP server that answers with a RegistryService. It listens on sockets that systemd keeps open (socket
// activation). While this process is stopped, new connections wait in the socket's queue.
#pragma once

#include "images/registry/service.hpp"
#include "images/registry/tls_keys.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

struct sockaddr_storage;
struct MHD_Connection; // of libmicrohttpd; only server.cpp includes its header
struct MHD_Daemon;

namespace gpuhost::images {

struct ServerLimits {
    unsigned threads = 4;
    unsigned connections = 256;
    /// A connection is closed after this time without any transfer. The whole header of a request must arrive
    /// within this time too, even if a client sends it byte by byte.
    std::chrono::seconds patience{30};
};

/// Returns the 4 or 16 bytes of an IPv4 or IPv6 address; empty for other families. For an IPv4-mapped IPv6
/// address, returns the 4 bytes of the IPv4 address.
[[nodiscard]] std::string peer_address(const sockaddr_storage& address);
/// Returns the first 64 bits of an IPv6 address, since one host may use any address of that network. For
/// IPv4, returns peer_address().
[[nodiscard]] std::string peer_network(const sockaddr_storage& address);

class RegistryServer {
  public:
    /// Called with RegistryAnswer::why, if it is not empty, on any thread of the server.
    using OnWhy = std::function<void(const std::string&)>;

    /// Starts the server on listening sockets, which the caller owns and keeps open. With `keys` the server
    /// uses TLS, and answers only clients with a certificate of the authorities in `keys`. `service` must
    /// outlive the server.
    [[nodiscard]] static base::Result<std::unique_ptr<RegistryServer>>
    start(RegistryService& service, const std::vector<base::UniqueFd>& sockets, const ServerLimits& limits,
          OnWhy on_why, std::optional<TlsKeys> keys = {});
    /// Closes open connections.
    ~RegistryServer();
    RegistryServer(const RegistryServer&) = delete;
    RegistryServer& operator=(const RegistryServer&) = delete;

    /// Stops accepting connections: new ones wait in the socket's queue for the next process that listens.
    /// Answers at most one more request on each open connection.
    void quiesce();
    /// Closes connections on which no complete request arrived within ServerLimits::patience. Call it about
    /// once a second.
    void end_slow();
    /// Returns the time since the last connection ended; 0 while a connection is open.
    [[nodiscard]] std::chrono::milliseconds idle() const;
    /// Reports whether every open connection has received at least one answer and has no request in progress.
    /// Call it after quiesce(), to see whether the server can stop.
    [[nodiscard]] bool drained() const;

  private:
    struct Connection;
    struct Callbacks;

    RegistryServer(RegistryService& service, const ServerLimits& limits, OnWhy on_why,
                   std::optional<TlsKeys> keys);
    void limit_peer(Connection& made);
    void make_room(const Connection& made);
    [[nodiscard]] base::Result<MHD_Daemon*> listen(const base::UniqueFd& socket);

    RegistryService& service_;
    ServerLimits limits_;
    OnWhy on_why_;
    std::optional<TlsKeys> keys_;
    std::vector<MHD_Daemon*> daemons_;     ///< one for each socket
    std::vector<base::UniqueFd> quiesced_; ///< duplicates of the listening sockets, returned by quiesce()
    std::atomic<bool> quiescing_ = false;
    mutable std::mutex mutex_;
    std::uint64_t last_us_ = 0; ///< CLOCK_MONOTONIC time when the last connection ended
    /// Guarded by mutex_, except members `target` and `length`: only the connection's own thread uses them.
    std::list<Connection> connections_;
};

} // namespace gpuhost::images
