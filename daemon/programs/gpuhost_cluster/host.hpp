// SPDX-License-Identifier: Apache-2.0
// Does the work of an upgrade on this host: gpuhostd swaps the driver, and pods are moved with the kubelet's
// credentials or with this program's own.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/client/async_client.hpp"
#include "daemon/cluster/upgrade/host.hpp"
#include "daemon/cluster/upgrade/pod_mover.hpp"
#include "daemon/programs/gpuhost_cluster/daemon_observer.hpp"
#include "daemon/programs/gpuhost_cluster/pod_access.hpp"
#include "daemon/programs/gpuhost_cluster/version_check.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuhost {

class ClusterHost final : public cluster::UpgradeHost {
  public:
    using LogLine = std::function<void(const std::string& line)>;

    /// `node` is the name of the host's Node. `own` is the API server with this program's credentials, which
    /// then move pods; null: the kubelet's do. All references and `own` must outlive this object.
    ClusterHost(client::AsyncClient& daemon, const base::Root& root, std::string node, LogLine log_line,
                cluster::Api* own = nullptr);

    /// Returns the next operation whose description see() needs; nullopt: none.
    [[nodiscard]] std::optional<std::uint64_t> wants(const DaemonState& state) const;
    void see(const DaemonState& state); ///< requires that `state.host` is a document
    void lose();                        ///< gpuhostd is not available

    [[nodiscard]] std::optional<cluster::Time> due() const;
    void turn();
    /// Descriptor of the connection with the kubelet's credentials, or -1; if readable, call turn().
    [[nodiscard]] int descriptor() const { return access_.descriptor(); }

    [[nodiscard]] cluster::HostDriver driver() const override;
    [[nodiscard]] cluster::Task check(const std::string& version) const override {
        return check_.result(version);
    }
    [[nodiscard]] cluster::Task swap(const std::string& version, std::int64_t since) const override;
    [[nodiscard]] cluster::Task pods(cluster::UpgradeAct act) const override { return mover_.task(act); }
    void be_at(const cluster::UpgradeWork& work) override;
    void drop_request() override;

  private:
    /// The description of an operation; null if the DaemonState does not have one.
    using Described = const base::Result<base::Json>*;
    void see_host(const DaemonState& state);
    [[nodiscard]] bool changes_driver(const client::OperationRow& operation, Described description) const;
    void follow_swap(const DaemonState& state);
    void query_holders();
    void begin_swap(const std::string& version, const cluster::UpgradePolicy* policy, std::int64_t since);
    void swap_answered(const base::Result<std::uint64_t>& started, const std::string& version,
                       std::int64_t since);

    client::AsyncClient& daemon_;
    const base::Root& root_;
    std::string node_;
    LogLine log_;
    cluster::HostDriver driver_;

    std::string store_;         ///< drivers in gpuhostd's store at the last see(), as JSON
    unsigned query_number_ = 0; ///< number of the search for holders; results of earlier ones are ignored
    std::set<std::uint64_t> dry_runs_; ///< operations that are dry runs, and so change nothing

    /// The newest operation that swaps the driver, or a failed attempt to start one.
    struct Swap {
        std::uint64_t id = 0;
        std::string version;    ///< version that it changes to; empty if another user requested it
        std::int64_t began = 0; ///< seconds since 1970
        cluster::Task task;
    };
    Swap swap_;
    Swap asked_swap_;                         ///< a swap that may run: its start has no reply, or timed out
    bool swap_asks_ = false;                  ///< the reply to the start of a swap is pending
    std::optional<cluster::Time> swap_again_; ///< when to try again to start a swap

    PodAccess access_;
    VersionCheck check_;
    cluster::PodMover mover_;
};

} // namespace gpuhost
