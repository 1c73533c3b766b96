// SPDX-License-Identifier: Apache-2.0
// Serves metrics by HTTP to Prometheus. Has no thread: the caller polls descriptor() and calls turn().
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

struct MHD_Daemon; // from libmicrohttpd, which only server.cpp includes

namespace gpuhost::metrics {

class Server {
  public:
    using Time = std::chrono::milliseconds; ///< on the monotonic clock
    /// Returns the metrics for one request, in Prometheus' text format. While it blocks, no client is served.
    using Text = std::function<const std::string&()>;

    /// Serves at `socket`, which listens.
    [[nodiscard]] static base::Result<std::unique_ptr<Server>> start(base::UniqueFd socket, Text text);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] int descriptor() const; ///< if readable, call turn()
    [[nodiscard]] std::optional<Time> due() const;
    void turn();

    [[nodiscard]] Time idle() const; ///< time without a connection; 0 if there is one

  private:
    struct Connection;
    struct Callbacks;

    explicit Server(Text text);

    Text text_;
    std::list<Connection> connections_;
    Time last_; ///< when the last connection ended
    MHD_Daemon* daemon_ = nullptr;
};

} // namespace gpuhost::metrics
