// SPDX-License-Identifier: Apache-2.0
// Moves pods off this node with the Eviction API, which respects disruption budgets. Uses credentials that
// cannot evict pods of other nodes: the kubelet's (NodeRestriction), or the host's
// (packaging/kubernetes/evict/). If a budget refuses an eviction, requests it again later.
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
    using LogLine = std::function<void(const std::string& line)>;
    /// Opens the API server with the credentials that move pods. The result must stay valid until the next
    /// call, or until the PodMover is destroyed.
    using Open = std::function<base::Result<Api*>()>;

    /// `query` starts a search for the pods whose processes use the driver; found() receives its result.
    PodMover(std::string node, Open open, std::function<void()> query, LogLine log_line);

    /// Starts the task `act`; None ends the current task. Stores a copy of `policy`. `since`: when the task's
    /// state began, in seconds since 1970.
    void be_at(UpgradeAct act, const UpgradePolicy* policy, std::int64_t since);
    [[nodiscard]] Task task(UpgradeAct act) const;
    void reopen(); ///< calls `open` again, because its result may differ now
    void found(GpuUsers::Holders holders) { users_.found(std::move(holders)); }

    [[nodiscard]] std::optional<Time> due() const;
    void turn();

  private:
    void begin();
    void query();
    void handle(PodFacts&& pod);
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
    LogLine log_;
    Api* api_ = nullptr;
    UpgradeAct act_ = UpgradeAct::None;
    std::optional<UpgradePolicy> policy_;
    std::int64_t since_ = 0;
    Task task_;
    GpuUsers users_;
    std::map<std::string, PodFacts> pods_;          ///< keyed by UID
    std::map<std::string, Time> ask_at_;            ///< UID → when to request the pod's eviction (again)
    std::map<std::string, std::string> in_the_way_; ///< UID → the server's reason why the pod was not evicted
    /// The error of the watch. While set, pods_ is not up to date.
    std::string last_error_;
    std::optional<Time> reopen_at_; ///< when to open the credentials (again)
    bool validator_seen_ = false;   ///< a DaemonSet that creates validators exists
    bool listed_ = false;
    bool all_asked_ = false; ///< evictions have been requested
    std::optional<Time> due_;
    Backoff backoff_;
    std::unique_ptr<Watch> watch_;
};

} // namespace gpuhost::cluster
