// SPDX-License-Identifier: Apache-2.0
// A candidate for the leader of the fleet: takes part in the election, and while this host leads, runs its
// term. All state of a leadership is in the Term.
#pragma once

#include "daemon/cluster/rollout/election.hpp"
#include "daemon/cluster/rollout/gate_keeper.hpp"
#include "daemon/cluster/rollout/term.hpp"

#include <optional>
#include <string>

namespace gpuhost::cluster {

class Leader {
  public:
    using LogLine = Election::LogLine;

    /// `node` is the name of this host's Node. `api` and `gates` must outlive this object.
    Leader(Api& api, GateKeeper& gates, std::string node, LogLine log_line);

    /// Sets the policy; null: not known. `policy` must stay valid until the next call.
    void set_policy(const Policy* policy);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();
    void retry(); ///< retries at once; called when the credentials have changed

    [[nodiscard]] bool leads() const { return term_.has_value(); }
    /// Returns the leader's part of `gpuhostctl cluster status --json`.
    [[nodiscard]] base::Json document() const;

  private:
    Api& api_;
    GateKeeper& gates_;
    LogLine log_;
    const Policy* policy_ = nullptr;
    Election election_;
    std::optional<Term> term_; ///< set while this host leads
};

} // namespace gpuhost::cluster
