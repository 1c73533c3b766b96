// SPDX-License-Identifier: Apache-2.0
// Runs a RegistryService on sockets that systemd or another caller keeps open. Connections are therefore not
// lost while this process does not run.
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
    /// Time without any transfer, and for the whole header of a request. A client that sends single bytes
    /// gets no more.
    std::chrono::seconds patience{30};
};

/// Returns the bytes of an IPv4 or IPv6 address; empty for other families. An IPv4-mapped IPv6 address counts
/// as IPv4.
[[nodiscard]] std::string peer_address(const sockaddr_storage& address);
/// Returns the network in which a peer may use any address: the IPv4 address itself, or the first 64 bits of
/// an IPv6 address.
[[nodiscard]] std::string peer_network(const sockaddr_storage& address);

class RegistryServer {
  public:
    /// Called with the reason of an unusual answer, on any thread.
    using OnWhy = std::function<void(const std::string&)>;

    /// Starts the server on listening sockets, which stay the caller's. With keys it uses TLS and accepts
    /// only clients that the authorities certify. `service` must outlive the server.
    [[nodiscard]] static base::Result<std::unique_ptr<RegistryServer>>
    start(RegistryService& service, const std::vector<base::UniqueFd>& sockets, const ServerLimits& limits,
          OnWhy on_why, std::optional<TlsKeys> keys = {});
    /// Closes open connections.
    ~RegistryServer();
    RegistryServer(const RegistryServer&) = delete;
    RegistryServer& operator=(const RegistryServer&) = delete;

    /// Accepts no more connections, and at most one more request on each open one. Pending connections remain
    /// for the next process that listens.
    void quiesce();
    /// Closes connections whose request is overdue. Call it regularly.
    void end_slow();
    /// Returns the time since the last connection ended; 0 while there is one.
    [[nodiscard]] std::chrono::milliseconds idle() const;
    /// Reports, after quiesce(), whether every accepted connection has received an answer.
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
    std::vector<MHD_Daemon*> daemons_;
    std::vector<base::UniqueFd> quiesced_;
    std::atomic<bool> quiescing_ = false;
    mutable std::mutex mutex_;
    std::uint64_t last_us_ = 0;         ///< when the last connection ended
    std::list<Connection> connections_; ///< under mutex_; a Connection's thread owns its members except `fd`
};

} // namespace gpuhost::images
