// SPDX-License-Identifier: Apache-2.0
// Serves the metrics of metrics.hpp by HTTP to Prometheus. Has no thread: the caller polls descriptor() and
// calls turn().
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"
#include "daemon/cluster/kube/backoff.hpp"

#include <list>
#include <memory>
#include <optional>
#include <string>

struct MHD_Daemon; // from libmicrohttpd, which only metrics_server.cpp includes

namespace gpuhost::cluster {

class MetricsServer {
  public:
    /// Listens on an address such as "127.0.0.1:9835" or "[::]:9835". The host may get the address later.
    [[nodiscard]] static base::Result<std::unique_ptr<MetricsServer>> listen(const std::string& address);
    ~MetricsServer();
    MetricsServer(const MetricsServer&) = delete;
    MetricsServer& operator=(const MetricsServer&) = delete;

    void set_text(const std::string& text); ///< sets the text that later requests get

    [[nodiscard]] int descriptor() const; ///< if readable, call turn()
    [[nodiscard]] std::optional<Time> due() const;
    void turn();

  private:
    struct Connection;
    struct Callbacks;

    MetricsServer() = default;

    std::string text_;
    std::list<Connection> connections_;
    MHD_Daemon* daemon_ = nullptr;
};

} // namespace gpuhost::cluster
