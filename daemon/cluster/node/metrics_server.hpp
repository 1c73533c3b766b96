// SPDX-License-Identifier: Apache-2.0
// The numbers of metrics.hpp by HTTP, for a Prometheus that comes for them. It has no thread: who polls descriptor() calls
// turn().
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"
#include "daemon/cluster/kube/backoff.hpp"

#include <list>
#include <memory>
#include <optional>
#include <string>

struct MHD_Daemon; // libmicrohttpd's, which only metrics_server.cpp includes

namespace gpuhost::cluster {

class MetricsServer {
  public:
    /// "127.0.0.1:9835" or "[::]:9835": of an address of this host, that it may not have yet.
    [[nodiscard]] static base::Result<std::unique_ptr<MetricsServer>> listen(const std::string& address);
    ~MetricsServer();
    MetricsServer(const MetricsServer&) = delete;
    MetricsServer& operator=(const MetricsServer&) = delete;

    void set_text(const std::string& text); ///< of every answer from now on

    [[nodiscard]] int descriptor() const; ///< readable: call turn()
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
