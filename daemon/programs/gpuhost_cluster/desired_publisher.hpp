// SPDX-License-Identifier: Apache-2.0
// Sends gpuhostd the cluster's desired state of this host, when it differs from the state that gpuhostd has.
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

    /// `daemon` must outlive this object.
    DesiredPublisher(client::AsyncClient& daemon, LogLine log_line)
        : daemon_(daemon), log_(std::move(log_line)) {}

    /// Reads what gpuhostd reports about the host: GPUs, toolkit, and the desired state that it has.
    void see(const base::Json& host);
    void lose() { is_seen_ = false; }
    /// Sends `desired` to gpuhostd, if it differs. Call this only while no upgrade of the host is in
    /// progress.
    void publish(const core::ClusterDesired& desired);
    /// The same with the toolkit that gpuhostd has, so that no other toolkit is applied.
    void publish_driver(const std::string& driver, const std::string& scheduled);

    [[nodiscard]] std::optional<cluster::Time> due() const { return again_; }

  private:
    void answered(const base::Result<std::uint64_t>& started, const core::ClusterDesired& desired);
    void note(const base::Error& trouble);

    client::AsyncClient& daemon_;
    LogLine log_;
    bool is_seen_ = false;
    bool asks_ = false; ///< a call of gpuhostd is pending
    bool has_gpus_ = false;
    bool is_pending_ = false; ///< gpuhostd has not applied the cluster's toolkit yet
    std::string store_;       ///< toolkits in gpuhostd's store at the last see(), as JSON
    /// The desired state that gpuhostd has.
    core::ClusterDesired published_;
    std::string tried_; ///< the state that was sent last, followed by store_ at that time
    std::optional<cluster::Time> again_;
    std::string last_error_; ///< the last logged error
};

} // namespace gpuhost
