// SPDX-License-Identifier: Apache-2.0
// What an upgrade has done on its host: the daemon swaps the driver, the kubelet's credentials move pods.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/cluster/pod_mover.hpp"
#include "daemon/cluster/upgrade_host.hpp"
#include "daemon/ctl/client.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuhost {

class ClusterHost final : public cluster::UpgradeHost {
  public:
    using Say = std::function<void(const std::string& line)>;

    /// `daemon` and `root` outlive it. `node` is the name of the host's Node.
    ClusterHost(ctl::Client& daemon, const base::Root& root, std::string node, Say say);

    /// What the daemon is at; then `host`, what it says of the host after that: a swap that has ended shows there.
    void look_at_operations();
    void see(const base::Json& host);
    void lose(); ///< the daemon is not there

    [[nodiscard]] std::optional<cluster::Time> due() const;
    void turn();
    [[nodiscard]] int descriptor() const; ///< of the kubelet's API, or -1: readable, call turn()

    [[nodiscard]] cluster::HostDriver driver() const override;
    [[nodiscard]] cluster::Task check(const std::string& version) const override;
    [[nodiscard]] cluster::Task swap(const std::string& version, std::int64_t since) const override;
    [[nodiscard]] cluster::Task pods(cluster::UpgradeAct act) const override { return mover_.task(act); }
    void be_at(const cluster::UpgradeWork& work) override;
    void drop_request() override;

  private:
    void follow_check();
    void begin_check(const std::string& version, const cluster::UpgradePolicy* policy);
    void look_for_holders();
    void follow_look();
    void begin_swap(const std::string& version, const cluster::UpgradePolicy* policy, std::int64_t since);
    [[nodiscard]] base::Result<cluster::Api*> open_kubelet();

    ctl::Client& daemon_;
    const base::Root& root_;
    std::string node_;
    Say say_;
    cluster::HostDriver driver_;

    std::string store_; ///< of drivers, as it was seen last
    std::string check_version_;
    std::uint64_t check_id_ = 0; ///< of the dry run
    cluster::Task check_;
    std::optional<cluster::Time> check_again_;

    std::string pods_version_;  ///< the swap that pods make way for
    std::uint64_t look_id_ = 0; ///< of the dry run that finds who holds the driver
    bool look_is_stale_ = false;
    std::set<std::uint64_t> dry_runs_; ///< which change nothing, however they end

    /// The newest that changes, or would change, the driver.
    struct Swap {
        std::uint64_t id = 0;
        std::string title;      ///< which names the version
        std::int64_t began = 0; ///< seconds since 1970
        cluster::Task task;
    };
    Swap swap_;
    std::optional<cluster::Time> swap_again_; ///< after one that could not even be begun

    std::optional<base::Root> kubelet_root_;
    std::optional<cluster::Api> kubelet_;
    cluster::PodMover mover_;
};

} // namespace gpuhost
