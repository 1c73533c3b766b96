// SPDX-License-Identifier: Apache-2.0
// A RegistryService on sockets that somebody else listens on, so that none of its connections is lost while it is not there.
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
struct MHD_Connection; // libmicrohttpd's, which only registry_server.cpp includes
struct MHD_Daemon;

namespace gpuhost::images {

struct ServerLimits {
    unsigned threads = 4;
    unsigned connections = 256;
    /// Without a byte moving, and for all of a request's head: who sends it letter by letter is not waited for.
    std::chrono::seconds patience{30};
};

/// The bytes of an IPv4 or IPv6 address; empty for other families. An IPv4 address written as IPv6 is IPv4.
[[nodiscard]] std::string peer_address(const sockaddr_storage& address);
/// The network in which a peer may take any address: an IPv4 address itself, or the first 64 bits of an IPv6 address.
[[nodiscard]] std::string peer_network(const sockaddr_storage& address);

class RegistryServer {
  public:
    /// Told why an answer is not what was asked for; called by any thread.
    using OnWhy = std::function<void(const std::string&)>;

    /// `service` must outlive it. The sockets listen already, and stay the caller's. With keys it speaks TLS, and only to
    /// clients that the authorities stand for.
    [[nodiscard]] static base::Result<std::unique_ptr<RegistryServer>>
    start(RegistryService& service, const std::vector<base::UniqueFd>& sockets, const ServerLimits& limits,
          OnWhy on_why, std::optional<TlsKeys> keys = {});
    /// Ends what is still open.
    ~RegistryServer();
    RegistryServer(const RegistryServer&) = delete;
    RegistryServer& operator=(const RegistryServer&) = delete;

    /// Takes no more connections, and no more than one request of each that is there. Who waits to be let in stays for
    /// who listens next.
    void quiesce();
    /// Shuts connections whose request does not come; to be called from time to time.
    void end_slow();
    /// For how long there was no connection.
    [[nodiscard]] std::chrono::milliseconds idle() const;
    /// After quiesce(): has everyone who was let in got an answer?
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
    std::list<Connection> connections_; ///< under mutex_; each one's members but `fd` are its thread's
};

} // namespace gpuhost::images
