// SPDX-License-Identifier: Apache-2.0
// A gRPC server on a unix socket, for the kubelet. It has no thread: the caller's event loop watches one
// descriptor. Only root may connect.
#pragma once

#include "daemon/rpc/limits.hpp"
#include "daemon/rpc/service.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gpuhost::rpc {

struct ServerOptions {
    std::string path; ///< of the socket, in a directory that only this program writes to
    std::vector<Service> services;
    Limits limits;
    bool allow_own_user = false; ///< processes of this process's user may connect, too; for tests
    /// Receives a text about each connection that was refused or ended by the server, for the log; at most 10
    /// in a minute.
    std::function<void(const std::string&)> on_problem = {};
};

class Server {
  public:
    /// Listens. Fails with AlreadyExists if another process listens on the path.
    [[nodiscard]] static base::Result<Server> start(ServerOptions options);
    /// Removes the socket, and closes connections without calling Call::on_cancel().
    ~Server();
    Server(Server&&) noexcept;
    Server& operator=(Server&&) noexcept;
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Returns a descriptor for the caller's event loop. It is readable when work() has something to do.
    [[nodiscard]] int descriptor() const;
    /// Does what is possible without waiting: accepts, reads, calls methods, sends.
    void work();
    [[nodiscard]] const std::string& path() const;
    [[nodiscard]] std::size_t connections() const;

  private:
    struct State;
    explicit Server(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace gpuhost::rpc
