// SPDX-License-Identifier: Apache-2.0
// The main loop of gpuhost-cluster once it has credentials. It handles events of gpuhostd, events of the API
// server, and timers.
#pragma once

#include "daemon/client/async_client.hpp"
#include "daemon/cluster/kube/enrolment.hpp"
#include "daemon/cluster/node/cluster_settings.hpp"
#include "daemon/cluster/policy/source.hpp"
#include "daemon/cluster/rollout/leader.hpp"
#include "daemon/cluster/upgrade/agent.hpp"
#include "daemon/cluster/upgrade/event_sender.hpp"
#include "daemon/metrics/server.hpp"
#include "daemon/programs/gpuhost_cluster/daemon_observer.hpp"
#include "daemon/programs/gpuhost_cluster/desired_publisher.hpp"
#include "daemon/programs/gpuhost_cluster/device_files.hpp"
#include "daemon/programs/gpuhost_cluster/host.hpp"

#include <memory>
#include <optional>
#include <string>

namespace gpuhost {

/// A file that gpuhostctl reads, written only when its content changes.
class StatusFile {
  public:
    /// `root` must outlive this object.
    StatusFile(const base::Root& root, const char* path) : root_(root), path_(path) {}

    void write(const base::Json& document);
    void write(std::string text);

  private:
    const base::Root& root_;
    const char* path_;
    std::string written_;
};

/// Uses the current certificate to request the next one, before the current one expires.
class Renewal {
  public:
    Renewal(const base::Root& root, cluster::Api& api, std::string node);

    [[nodiscard]] std::optional<cluster::Time> due() const;
    bool turn(); ///< returns true once after a new certificate was stored

  private:
    void plan();

    const base::Root& root_;
    cluster::Api& api_;
    std::string node_;
    std::uint64_t at_ = 0; ///< when to request the next certificate, in seconds since 1970
    bool issued_ = false;
    std::unique_ptr<cluster::Enrolment> enrolment_;
};

class ClusterProgram {
  public:
    /// All arguments must outlive this object. `renews` is true if this program requested its certificate
    /// itself, and must renew it. `settings` become those that gpuhostd has read.
    ClusterProgram(const base::Root& root, client::AsyncClient& daemon, cluster::Api& api,
                   const std::string& node, core::Settings& settings, bool renews, StatusFile& status);

    /// Runs until an error occurs, which it returns, or until gpuhostd has read other settings for this
    /// program.
    [[nodiscard]] base::Result<void> run();

  private:
    [[nodiscard]] cluster::Time next() const;
    [[nodiscard]] base::Result<void> wait();
    void handle(client::AsyncClient::Event event);
    void lose_daemon();
    void listen();
    void watch(int descriptor);
    void observe();
    void on_observed(const DaemonState& state);
    [[nodiscard]] bool has_other_settings(const base::Json& host);
    void refresh();
    void see_devices();
    void read_devices();
    void observe_soon();
    void publish();
    void send_health(const base::Json& node, const cluster::Condition* before,
                     const cluster::Condition& after);
    void on_policy();
    void turn();
    void publish_desired();
    void report();

    const base::Root& root_;
    client::AsyncClient& daemon_;
    cluster::Api& api_;
    core::Settings& loaded_; ///< as last loaded
    const cluster::ClusterSettings settings_;
    base::Json config_read_; ///< when gpuhostd read its configuration; null: not known
    bool outdated_ = false;  ///< the files have other settings than settings_
    StatusFile& status_;
    StatusFile policy_file_;
    StatusFile metrics_file_;
    std::string state_;     ///< state of the Node that systemd was notified of last
    bool observed_ = false; ///< gpuhostd has answered, or is known to be down
    bool gone_ = true;      ///< gpuhostd is not on the bus, or this is not known yet
    cluster::Time observe_at_{0};
    cluster::Time observed_at_{0};
    cluster::Time refresh_at_;
    std::uint64_t policy_seen_ = 0;
    base::UniqueFd epoll_; ///< all descriptors to wait for, except the daemon's
    DeviceFiles devices_;
    OfferGeneration offers_;
    cluster::Readiness readiness_; ///< without the GPUs that are offered
    cluster::EventSender health_events_;
    HealthNews health_news_;
    std::optional<Renewal> renewal_;
    cluster::PolicySource policy_;
    DesiredPublisher desired_;
    std::optional<ClusterHost> host_;
    DaemonObserver observer_;
    std::optional<cluster::UpgradeAgent> upgrade_;
    std::optional<cluster::GateKeeper> gates_;
    std::optional<cluster::Leader> leader_;
    std::uint64_t certificate_until_; ///< of the credentials in use, seconds since 1970; 0: no certificate
    std::string listen_trouble_;
    std::string metrics_;
    std::unique_ptr<metrics::Server> metrics_server_;
    cluster::HostAgent agent_;
};

} // namespace gpuhost
