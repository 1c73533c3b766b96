// SPDX-License-Identifier: Apache-2.0
// gpuhost-cluster once it has credentials: one loop for what the daemon says, what the API server says, and the time.
#pragma once

#include "daemon/client/async_client.hpp"
#include "daemon/cluster/kube/enrolment.hpp"
#include "daemon/cluster/node/cluster_settings.hpp"
#include "daemon/cluster/node/metrics_server.hpp"
#include "daemon/cluster/policy/source.hpp"
#include "daemon/cluster/rollout/leader.hpp"
#include "daemon/cluster/upgrade/agent.hpp"
#include "daemon/programs/gpuhost_cluster/host.hpp"
#include "daemon/programs/gpuhost_cluster/look.hpp"
#include "daemon/programs/gpuhost_cluster/wish.hpp"

#include <memory>
#include <optional>
#include <string>

namespace gpuhost {

/// For gpuhostctl and systemctl, whenever it says something else.
class StatusFile {
  public:
    /// `root` outlives it.
    StatusFile(const base::Root& root, const char* path) : root_(root), path_(path) {}

    void write(const base::Json& document);
    void write(std::string text);

  private:
    const base::Root& root_;
    const char* path_;
    std::string written_;
};

/// Asks for the next certificate in good time, with the one that there is.
class Renewal {
  public:
    Renewal(const base::Root& root, cluster::Api& api, std::string node);

    [[nodiscard]] std::optional<cluster::Time> due() const;
    bool turn(); ///< true once there is a new one

  private:
    void plan();

    const base::Root& root_;
    cluster::Api& api_;
    std::string node_;
    std::uint64_t at_ = 0; ///< seconds since 1970
    bool issued_ = false;
    std::unique_ptr<cluster::Enrolment> enrolment_;
};

class ClusterProgram {
  public:
    /// All of them outlive it. `renews`: the certificate is one that this program has asked for.
    ClusterProgram(const base::Root& root, ctl::AsyncClient& daemon, cluster::Api& api,
                   const std::string& node, const cluster::ClusterSettings& settings, bool renews,
                   StatusFile& status);

    /// Until something breaks.
    [[nodiscard]] base::Result<void> run();

  private:
    [[nodiscard]] cluster::Time next() const;
    [[nodiscard]] base::Result<void> wait();
    void take(ctl::AsyncClient::Event event);
    void lose_daemon();
    void listen();
    void watch(int descriptor);
    void look();
    void take_look(const DaemonState& state);
    void refresh();
    void take_policy();
    void turn();
    void tell_wish();
    void report();

    ctl::AsyncClient& daemon_;
    cluster::Api& api_;
    StatusFile& status_;
    StatusFile policy_file_;
    StatusFile metrics_file_;
    std::string state_; ///< that systemd was told
    bool gone_ = true;  ///< the daemon: not on the bus, or not known yet
    cluster::Time look_at_{0};
    cluster::Time looked_at_{0};
    cluster::Time refresh_at_;
    std::uint64_t policy_seen_ = 0;
    base::UniqueFd epoll_; ///< of all that is to wake it but the daemon
    std::optional<Renewal> renewal_;
    cluster::PolicySource policy_;
    WishTeller wish_;
    std::optional<ClusterHost> host_;
    DaemonLook look_;
    std::optional<cluster::UpgradeAgent> upgrade_;
    std::optional<cluster::GateKeeper> gates_;
    std::optional<cluster::Leader> leader_;
    std::string metrics_listen_;
    std::string listen_trouble_;
    std::unique_ptr<cluster::MetricsServer> metrics_server_;
    cluster::HostAgent agent_;
};

} // namespace gpuhost
