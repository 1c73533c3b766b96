// SPDX-License-Identifier: Apache-2.0
// Sends the cluster's desired state of this host to the daemon when it differs from the last one sent.
#pragma once

#include "daemon/client/async_client.hpp"
#include "daemon/cluster/kube/backoff.hpp"
#include "daemon/core/cluster_desired.hpp"

#include <functional>
#include <optional>
#include <string>

namespace gpuhost {

class DesiredPublisher {
  public:
    using LogLine = std::function<void(const std::string& line)>;

    /// `daemon` must outlive it.
    DesiredPublisher(client::AsyncClient& daemon, LogLine log_line)
        : daemon_(daemon), log_(std::move(log_line)) {}

    /// Reads the daemon's document of the host.
    void see(const base::Json& host);
    void lose() { is_seen_ = false; }
    /// Sends `desired` if it differs. Call only while no upgrade of the host is in progress.
    void publish(const core::ClusterDesired& desired);

    [[nodiscard]] std::optional<cluster::Time> due() const { return again_; }

  private:
    void answered(const base::Result<std::uint64_t>& started, const core::ClusterDesired& desired);
    void note(const base::Error& trouble);

    client::AsyncClient& daemon_;
    LogLine log_;
    bool is_seen_ = false;
    bool asks_ = false; ///< a call is not answered yet
    bool has_gpus_ = false;
    bool is_pending_ = false; ///< the toolkit differs from the desired one, and could be changed
    std::string store_;       ///< the toolkits' store when last seen
    core::ClusterDesired published_;
    std::string tried_; ///< the last sent state, with the store at that time
    std::optional<cluster::Time> again_;
    std::string last_error_; ///< the last logged error
};

} // namespace gpuhost
