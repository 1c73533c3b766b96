// SPDX-License-Identifier: Apache-2.0
// Runs the upgrade of this host: watches its grant, writes the state on its Node, and starts the next task on
// the host. Starts a task that cannot be undone only after the server has stored the state, and while the
// grant is renewed.
#pragma once

#include "daemon/cluster/kube/watch.hpp"
#include "daemon/cluster/node/host_agent.hpp"
#include "daemon/cluster/rollout/grant.hpp"
#include "daemon/cluster/upgrade/event_sender.hpp"
#include "daemon/cluster/upgrade/host.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::cluster {

class UpgradeAgent final : public NodeAuthor {
  public:
    using LogLine = std::function<void(const std::string& line)>;

    /// `node` is the name of this host's Node. `api` and `host` must outlive the agent.
    UpgradeAgent(Api& api, std::string node, UpgradeHost& host, LogLine log_line);

    /// Sets the policy; null: not known. `policy` must stay valid until the next call.
    void set_policy(const Policy* policy) { policy_ = policy; }

    [[nodiscard]] std::optional<Time> due() const;
    void turn();
    void retry(); ///< retries at once; called when the credentials have changed

    [[nodiscard]] NodePatch change(const base::Json& node) override;
    void written(const base::Json& node) override;
    void refused(const base::Json& node, const base::Error& why) override;
    void no_node() override;

    /// Returns true if the Node is known and no upgrade of this host is in progress.
    [[nodiscard]] bool knows_node() const { return !uid_.empty(); }
    [[nodiscard]] bool is_quiet() const { return knows_node() && !is_under_way(move_.state); }
    /// Returns UpgradeDecision::offer of the last decision.
    [[nodiscard]] const std::string& offer() const { return move_.offer; }
    /// Returns UpgradeDecision::scheduled of the last decision.
    [[nodiscard]] const std::string& scheduled() const { return move_.scheduled; }

    /// Returns the upgrade's part of `gpuhostctl cluster status --json`.
    [[nodiscard]] base::Json document() const;

  private:
    [[nodiscard]] UpgradeInput situation(const base::Json& node) const;
    [[nodiscard]] Task validators(const Labels& labels) const;
    [[nodiscard]] bool is_granted() const;
    [[nodiscard]] bool is_ours() const;
    void mind_grant(const UpgradeDecision& move, bool under_way);
    void watch_grant(bool from_list);
    void watch_waits(bool wanted);
    void on_lease(const LeaseFacts& lease);
    void lose_lease();
    void confirm();
    void renew();
    void renewed(ApiAnswer&& answer, Time asked);
    void give_back();

    Api& api_;
    std::string name_;
    UpgradeHost& host_;
    LogLine log_;
    const Policy* policy_ = nullptr;

    std::string uid_;                   ///< UID of the Node
    UpgradeDecision move_;              ///< the last decision of next_decision()
    std::vector<UpgradeEvent> events_;  ///< sent after the server has accepted the patch of the Node
    std::vector<std::string> failures_; ///< UpgradePatch::failures of the last write
    EventSender sender_;
    std::optional<Time> reason_at_; ///< when a patch that changes only the reason was last written
    std::optional<Time> due_;

    std::optional<LeaseFacts> lease_;
    bool lease_known_ = false; ///< true: lease_ is up to date, and null if there is no grant
    bool confirmed_ = false;   ///< the grant belongs to the current leader's term
    bool returns_ = false;     ///< the grant is to be deleted, because this host no longer needs it
    bool asks_ = false;        ///< a request about the Lease is in flight
    /// When the request of the last successful renewal was sent. While this is unset, the grant is not used,
    /// since its last renewal may be long ago.
    std::optional<Time> renewed_;
    std::optional<Time> lease_due_;
    std::string waits_;   ///< why hosts of this pool wait, as the leader published it
    Time waits_since_{0}; ///< start of the wait for a leader's reason
    std::string pool_;
    Backoff backoff_;
    std::unique_ptr<Watch> grant_watch_;
    std::unique_ptr<Watch> waits_watch_;
};

} // namespace gpuhost::cluster
