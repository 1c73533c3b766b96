// SPDX-License-Identifier: Apache-2.0
// Has the pods leave that must: with the kubelet's own credentials, which reach no other node's pods (NodeRestriction), by
// the Eviction API, which disruption budgets have a say in. Unhurried: a pod that may not go yet is asked again after a while.
// https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
#pragma once

#include "daemon/cluster/kube/watch.hpp"
#include "daemon/cluster/upgrade/gpu_users.hpp"
#include "daemon/cluster/upgrade/pods.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace gpuhost::cluster {

class PodMover {
  public:
    using Say = std::function<void(const std::string& line)>;
    /// The kubelet's way to the API server. What it returns lives as long as the PodMover, or until it asks again.
    using Open = std::function<base::Result<Api*>()>;

    /// `look`: who holds the driver, told by found().
    PodMover(std::string node, Open open, std::function<void()> look, Say say);

    /// None ends it. Keeps a copy of `policy`.
    void be_at(UpgradeAct act, const UpgradePolicy* policy, std::int64_t since);
    [[nodiscard]] Task task(UpgradeAct act) const;
    void reopen(); ///< `open` may return something else than it did
    void found(GpuUsers::Holders holders) { users_.found(std::move(holders)); }

    [[nodiscard]] std::optional<Time> due() const;
    void turn();

  private:
    void begin();
    void look();
    void take(PodFacts&& pod);
    void keep(const std::set<std::string>& names);
    void note(const base::Error& trouble);
    void see_pods();
    [[nodiscard]] std::optional<std::string> awaited();
    void wait(std::string why);
    [[nodiscard]] bool is_validator_due() const;
    [[nodiscard]] bool is_outdated(const PodFacts& pod) const;
    void end_outdated_validators();
    void ask(const PodFacts& pod);
    void answered(const std::string& uid, const std::string& text, ApiAnswer&& answer);
    [[nodiscard]] bool is_late() const;
    [[nodiscard]] bool is_over() const;
    [[nodiscard]] Seconds patience() const;
    [[nodiscard]] const PodRules& rules() const;
    void fail(const std::string& why);

    std::string node_;
    Open open_;
    Say say_;
    Api* api_ = nullptr;
    UpgradeAct act_ = UpgradeAct::None;
    std::optional<UpgradePolicy> policy_;
    std::int64_t since_ = 0;
    Task task_;
    GpuUsers users_;
    std::map<std::string, PodFacts> pods_;          ///< by their uids
    std::map<std::string, Time> ask_at_;            ///< uid → when to ask (again)
    std::map<std::string, std::string> in_the_way_; ///< uid → why it has not gone yet
    std::string trouble_;                           ///< of the watch: pods_ is not up to date
    std::optional<Time> reopen_at_;                 ///< when the credentials are read (anew)
    bool validator_seen_ = false;                   ///< there is a DaemonSet that makes one
    bool listed_ = false;
    bool all_asked_ = false; ///< nobody was refused: from here on they go
    std::optional<Time> due_;
    Backoff backoff_;
    std::unique_ptr<Watch> watch_;
};

} // namespace gpuhost::cluster
