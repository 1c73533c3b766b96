// SPDX-License-Identifier: Apache-2.0
// One term of the leader: grants upgrades while this host holds the Lease gpuhost-leader. Reads all its state
// from the API server, so another candidate can continue. A grant names the term, and a host checks the term
// before it begins. So a grant that a former leader creates late has no effect.
#pragma once

#include "daemon/cluster/kube/watch.hpp"
#include "daemon/cluster/rollout/admission.hpp"
#include "daemon/cluster/rollout/election.hpp"
#include "daemon/cluster/rollout/gate_keeper.hpp"
#include "daemon/cluster/rollout/grant.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace gpuhost::cluster {

class Term {
  public:
    /// Begins the term of `leader`, the Lease that `election` holds. Reads the whole fleet, because a host
    /// stores the fleet only during its term. `api`, `gates` and `election` must outlive this object. See
    /// set_policy() for `policy`.
    Term(Api& api, GateKeeper& gates, const Election& election, const LeaseFacts& leader,
         const Policy* policy, Election::LogLine log_line);
    Term(const Term&) = delete;
    Term& operator=(const Term&) = delete;
    /// Ends the term: answers to its requests have no effect on a later term.
    ~Term();

    /// Sets the policy; null: not known. `policy` must stay valid until the next call.
    void set_policy(const Policy* policy);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();
    void retry();   ///< retries at once; called when the credentials have changed
    void changed(); ///< schedules a decision, because something that it depends on has changed

    /// Returns the members of Leader::document() that only a leader has.
    [[nodiscard]] base::Json document() const;

  private:
    struct Request {
        std::uint64_t id = 0; ///< ID of the request in the Api
        bool creates = false; ///< the grant is being created, otherwise deleted
    };

    void on_node(base::Json&& node);
    void lose_node(const std::string& name);
    void retain_nodes(const std::set<std::string>& names);
    void on_grant(base::Json&& lease);
    void forget_grant(const std::string& name);
    void retain_grants(const std::set<std::string>& leases);
    void mark_time();
    void decide();
    void grant(const std::string& node);
    void granted(const std::string& node, const ApiAnswer& answer);
    void revoke(const std::string& node);
    void note_unused(const std::string& node, const std::string& uid);
    void publish();
    void publish(const std::string& waits);
    void note_trouble(const std::string& what, const base::Error& trouble);
    [[nodiscard]] bool knows_fleet() const { return nodes_listed_ && grants_listed_; }

    Api& api_;
    GateKeeper& gates_;
    const Election& election_;
    Election::LogLine log_;
    std::string name_; ///< term_of() the leader's Lease
    const Policy* policy_;
    Backoff backoff_;

    /// For each Node, its labels as "key\nvalue\n…": compact, because there may be many Nodes.
    std::map<std::string, std::string> labels_;
    std::map<std::string, LeaseFacts> leases_; ///< keyed by name
    std::map<std::string, Request> in_flight_; ///< keyed by node
    /// Nodes whose grant may or may not exist, because its creation got no clear answer. Until the given time
    /// the grant may appear, so it counts.
    std::map<std::string, Time> unconfirmed_grants_;
    Fleet fleet_;
    Admission admission_;
    bool nodes_listed_ = false;
    bool grants_listed_ = false;
    /// Maps what cannot be read ("nodes", "leases") to the last logged reason.
    std::map<std::string, std::string> blind_;
    std::optional<Time> decide_due_;
    Time decided_{0};
    std::string published_;
    std::uint64_t publishing_ = 0; ///< request that publishes; 0: none
    bool has_rollout_ = false;     ///< a Lease gpuhost-rollout exists, though the watch may not show it yet
    Watch nodes_;                  ///< the watches are declared last: their handlers use the other members
    Watch grants_;
};

} // namespace gpuhost::cluster
