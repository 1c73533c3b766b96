// SPDX-License-Identifier: Apache-2.0
// One among the candidates that hands out grants. It holds the Lease gpuhost-leader; what it knows it has from the API
// server, so that another can go on where it ended. A grant that it hands out late, when another leads already, is void:
// the grant names the term, and a host asks whose term it is before it begins.
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
    using Say = std::function<void(const std::string& line)>;

    /// `node` is this host's; `api` and `gates` outlive it.
    Leader(Api& api, GateKeeper& gates, std::string node, Say say);

    /// Null: not known. It outlives the next call.
    void set_policy(const Policy* policy);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();
    void retry(); ///< the credentials are others

    [[nodiscard]] bool leads() const { return valid_until_.has_value(); }
    [[nodiscard]] const Admission& admission() const { return admission_; }
    [[nodiscard]] const Fleet& fleet() const { return fleet_; }
    [[nodiscard]] base::Json document() const; ///< of `gpuhostctl cluster status --json`

  private:
    void take_lease(const LeaseFacts& lease);
    void lose_lease();
    void seize();
    void renew();
    void answered(ApiAnswer&& answer, Time asked, bool seized);
    [[nodiscard]] Time lease_ends() const;
    void begin();
    void end(const std::string& why);
    void watch_fleet();
    void take_node(base::Json&& node);
    void lose_node(const std::string& name);
    void keep_nodes(const std::set<std::string>& names);
    void take_grant(base::Json&& lease);
    void forget_grant(const std::string& name);
    void keep_grants(const std::set<std::string>& leases);
    void place_all();
    void tell_time();
    void decide();
    void grant(const std::string& node);
    void granted(const std::string& node, const ApiAnswer& answer);
    void revoke(const std::string& node);
    void note_unused(const std::string& node, const std::string& uid);
    void publish();
    void publish(const std::string& waits);
    void note_trouble(const std::string& what, const base::Error& trouble);
    void changed(); ///< decides soon
    [[nodiscard]] bool knows_fleet() const { return nodes_listed_ && grants_listed_; }
    [[nodiscard]] std::array<Watch*, 2> watches() const { return {nodes_.get(), grants_.get()}; }

    Api& api_;
    GateKeeper& gates_;
    std::string name_;
    Say say_;
    const Policy* policy_ = nullptr;

    // The lease
    LeaseFacts lease_;
    bool lease_known_ = false;
    bool lease_there_ = false;
    Time lease_seen_{0}; ///< when it changed last
    bool asks_ = false;
    std::optional<Time> lease_due_;
    std::string term_;                ///< while it leads: what was asked in another is no more answered
    std::optional<Time> valid_until_; ///< while it leads
    std::string trouble_;
    Backoff backoff_;

    // The fleet, while it leads
    std::map<std::string, std::string> labels_; ///< "key\nvalue\n…" of each Node: small, there are many
    std::map<std::string, Time> grant_seen_;    ///< when each grant was renewed last
    std::map<std::string, LeaseFacts> leases_;  ///< by their names
    std::map<std::string, bool> asked_;         ///< nodes whose grant is being made (true) or taken away
    Fleet fleet_;
    Admission admission_;
    bool nodes_listed_ = false;
    bool grants_listed_ = false;
    std::map<std::string, std::string> blind_; ///< what can't be read, and why, as it was logged last
    std::optional<Time> decide_due_;
    Time decided_{0};
    std::string published_;
    bool publishes_ = false;
    bool has_rollout_ = false; ///< there is a Lease to publish in, though the watch may not have shown it
    /// Nodes whose grant nobody has seen, and until when it may still come to be: so long it counts.
    std::map<std::string, Time> doubts_;
    std::unique_ptr<Watch> nodes_;
    std::unique_ptr<Watch> grants_;
    Watch own_; ///< last: it calls the others
};

} // namespace gpuhost::cluster
