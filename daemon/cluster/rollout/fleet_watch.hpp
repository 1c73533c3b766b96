// SPDX-License-Identifier: Apache-2.0
// Watches the whole fleet for `gpuhostctl fleet status`: every Node with GPUs, the Leases and the
// policy. Writes nothing to the server. Needs a few MiB for ten thousand Nodes.
#pragma once

#include "daemon/cluster/kube/watch.hpp"
#include "daemon/cluster/policy/source.hpp"
#include "daemon/cluster/rollout/fleet_document.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace gpuhost::cluster {

class FleetWatch {
  public:
    /// `api` and `root` must outlive this object. `root` is that of PolicySource, and may be null.
    FleetWatch(Api& api, const base::Root* root, PolicySource::LogLine log_line);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();
    void retry();   ///< retries at once; called when the credentials have changed
    void refresh(); ///< reads the policy's file again

    /// Returns true if all Nodes and Leases have been read. After a change of the policy the Nodes are read
    /// again, because their labels are not stored.
    [[nodiscard]] bool is_known() const { return nodes_listed_ && leases_listed_; }
    /// Returns fleet_document() for what has been read so far.
    [[nodiscard]] base::Json document(std::int64_t now) const;
    /// Returns a number that increases whenever document() may have changed.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }
    /// Returns why the data may be out of date; the message is empty if the data is up to date.
    [[nodiscard]] const base::Error& trouble() const;
    [[nodiscard]] Time heard() const { return heard_; } ///< when data last arrived
    [[nodiscard]] const LeaseFacts& leader() const { return facts_.leader; }

  private:
    void on_policy();
    void on_node(base::Json&& node);
    void retain_nodes(const std::set<std::string>& names);
    void on_lease(base::Json&& lease);
    void forget_lease(const std::string& name);
    void retain_leases(const std::set<std::string>& names);
    void changed();

    PolicySource policy_;
    std::uint64_t policy_seen_ = 0;
    FleetFacts facts_;
    bool nodes_listed_ = false;
    bool leases_listed_ = false;
    std::uint64_t changes_ = 0;
    Time heard_{0};
    base::Error nodes_trouble_;
    base::Error leases_trouble_;
    Watch leases_;
    Watch nodes_; ///< started once there is a policy
};

} // namespace gpuhost::cluster
