// SPDX-License-Identifier: Apache-2.0
// Grants upgrades while this host holds the Lease gpuhost-leader, so one candidate at a time. The leader
// reads all its state from the API server, so another candidate can continue. A grant names the leader's
// term, and a host checks the term before it begins. So a grant that a former leader creates late has no
// effect.
#pragma once

#include "daemon/cluster/kube/watch.hpp"
#include "daemon/cluster/rollout/admission.hpp"
#include "daemon/cluster/rollout/gate_keeper.hpp"
#include "daemon/cluster/rollout/grant.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace gpuhost::cluster {

class Leader {
  public:
    using LogLine = std::function<void(const std::string& line)>;

    /// `node` is the name of this host's Node. `api` and `gates` must outlive this object.
    Leader(Api& api, GateKeeper& gates, std::string node, LogLine log_line);

    /// Sets the policy; null: not known. `policy` must stay valid until the next call.
    void set_policy(const Policy* policy);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();
    void retry(); ///< retries at once; called when the credentials have changed

    [[nodiscard]] bool leads() const { return valid_until_.has_value(); }
    [[nodiscard]] const Admission& admission() const { return admission_; }
    [[nodiscard]] const Fleet& fleet() const { return fleet_; }
    /// Returns the leader's part of `gpuhostctl cluster status --json`.
    [[nodiscard]] base::Json document() const;

  private:
    void on_lease(const LeaseFacts& lease);
    void lose_lease();
    void seize();
    void renew();
    void answered(ApiAnswer&& answer, Time asked, bool seized);
    [[nodiscard]] Time lease_ends() const;
    void begin();
    void end(const std::string& why);
    void watch_fleet();
    void on_node(base::Json&& node);
    void lose_node(const std::string& name);
    void retain_nodes(const std::set<std::string>& names);
    void on_grant(base::Json&& lease);
    void forget_grant(const std::string& name);
    void retain_grants(const std::set<std::string>& leases);
    void place_all();
    void mark_time();
    void decide();
    void grant(const std::string& node);
    void granted(const std::string& node, const ApiAnswer& answer);
    void revoke(const std::string& node);
    void note_unused(const std::string& node, const std::string& uid);
    void publish();
    void publish(const std::string& waits);
    void note_trouble(const std::string& what, const base::Error& trouble);
    void changed(); ///< schedules decide()
    [[nodiscard]] bool knows_fleet() const { return nodes_listed_ && grants_listed_; }
    [[nodiscard]] std::array<Watch*, 2> watches() const { return {nodes_.get(), grants_.get()}; }

    Api& api_;
    GateKeeper& gates_;
    std::string name_;
    LogLine log_;
    const Policy* policy_ = nullptr;

    // The leader's Lease
    LeaseFacts lease_;
    bool lease_known_ = false;
    bool lease_there_ = false;
    Time lease_seen_{0}; ///< when the holder or the renewal time last changed
    bool asks_ = false;
    std::optional<Time> lease_due_;
    /// The leader's term, set while this host leads. Answers to requests of another term are ignored.
    std::string term_;
    std::optional<Time> valid_until_; ///< end of the lease, by the monotonic clock; set while this host leads
    std::string last_error_;
    Backoff backoff_;

    // The fleet, known while this host leads
    /// For each Node, its labels as "key\nvalue\n…": compact, because there may be many Nodes.
    std::map<std::string, std::string> labels_;
    std::map<std::string, Time> grant_seen_;   ///< time of the last renewal of each grant
    std::map<std::string, LeaseFacts> leases_; ///< keyed by name
    std::map<std::string, bool> in_flight_; ///< nodes whose grant is being created (true) or deleted (false)
    Fleet fleet_;
    Admission admission_;
    bool nodes_listed_ = false;
    bool grants_listed_ = false;
    /// Maps what cannot be read ("nodes", "leases") to the last logged reason.
    std::map<std::string, std::string> blind_;
    std::optional<Time> decide_due_;
    Time decided_{0};
    std::string published_;
    bool publishes_ = false;
    bool has_rollout_ = false; ///< a Lease gpuhost-rollout exists, though the watch may not show it yet
    /// Nodes whose grant may or may not exist, because its creation got no clear answer. Until the given time
    /// the grant may appear, so it counts.
    std::map<std::string, Time> unconfirmed_grants_;
    std::unique_ptr<Watch> nodes_;
    std::unique_ptr<Watch> grants_;
    Watch own_; ///< declared last: its handlers use the other members
};

} // namespace gpuhost::cluster
