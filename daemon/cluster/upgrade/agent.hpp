// SPDX-License-Identifier: Apache-2.0
// A host's own upgrade: watches its grant, says on its Node where it is, and has the host do what is next. It does nothing
// that can't be taken back unless the server has taken the word of it, and its grant is fresh.
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
    using Say = std::function<void(const std::string& line)>;

    /// `node` is this host's; `api` and `host` outlive it.
    UpgradeAgent(Api& api, std::string node, UpgradeHost& host, Say say);

    /// Null: not known. It outlives the next call.
    void set_policy(const Policy* policy) { policy_ = policy; }

    [[nodiscard]] std::optional<Time> due() const;
    void turn();
    void retry(); ///< the credentials are others

    [[nodiscard]] NodePatch change(const base::Json& node) override;
    void written(const base::Json& node) override;
    void refused(const base::Json& node, const base::Error& why) override;
    void no_node() override;

    /// The Node is known, and no upgrade of this host is under way.
    [[nodiscard]] bool is_quiet() const { return !uid_.empty() && !is_under_way(move_.state); }
    /// UpgradeMove::offer
    [[nodiscard]] const std::string& offer() const { return move_.offer; }

    [[nodiscard]] base::Json document() const; ///< of `gpuhostctl cluster status --json`

  private:
    [[nodiscard]] UpgradeSituation situation(const base::Json& node) const;
    [[nodiscard]] Task validators(const Labels& labels) const;
    [[nodiscard]] bool is_granted() const;
    [[nodiscard]] bool is_ours() const;
    void mind_grant(const UpgradeMove& move, bool under_way);
    void watch_grant(bool from_list);
    void watch_waits(bool wanted);
    void take_lease(const LeaseFacts& lease);
    void lose_lease();
    void confirm();
    void renew();
    void renewed(ApiAnswer&& answer, Time asked);
    void give_back();

    Api& api_;
    std::string name_;
    UpgradeHost& host_;
    Say say_;
    const Policy* policy_ = nullptr;

    std::string uid_;                   ///< of the Node
    UpgradeMove move_;                  ///< the last that was made up
    std::vector<UpgradeEvent> events_;  ///< to send once the Node says so
    std::vector<std::string> failures_; ///< UpgradePatch::failures of what was written last
    EventSender sender_;
    std::optional<Time> reason_at_; ///< when the reason alone was written last
    std::optional<Time> due_;

    std::optional<LeaseFacts> lease_;
    bool lease_known_ = false; ///< whether there is one
    bool confirmed_ = false;   ///< it is of the term that counts
    bool returns_ = false;     ///< it is not needed any more
    bool asks_ = false;        ///< about the lease
    /// The last time that surely counted. What merely lies there, nobody may have renewed for long.
    std::optional<Time> renewed_;
    std::optional<Time> lease_due_;
    std::string waits_;   ///< of this host's pool
    Time waits_since_{0}; ///< since when the leader has been asked for it
    std::string pool_;
    Backoff backoff_;
    std::unique_ptr<Watch> grant_watch_;
    std::unique_ptr<Watch> waits_watch_;
};

} // namespace gpuhost::cluster
