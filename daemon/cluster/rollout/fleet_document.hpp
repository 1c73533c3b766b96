// SPDX-License-Identifier: Apache-2.0
// Describes the upgrade of the fleet for people: a pure function of the Nodes, the grants and the policy. Any
// host can read these, so no leader is needed.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/cluster/rollout/admission.hpp"
#include "daemon/cluster/rollout/grant.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

struct FleetFacts {
    Fleet fleet;
    LeaseFacts leader;  ///< the Lease gpuhost-leader; its name is empty if there is none
    LeaseFacts rollout; ///< the Lease gpuhost-rollout; its name is empty if there is none
};

/// A host's phase, as gpuhostctl shows it. The most urgent phase is first.
enum class FleetPhase { Failed, Upgrading, Waiting, Other, Done };

[[nodiscard]] std::string_view phase_name(FleetPhase phase);

/// Returns true if the leader's Lease has expired. Allows for a difference between the clocks of two hosts.
[[nodiscard]] bool is_silent(const LeaseFacts& leader, std::int64_t now);

/// Returns an element of "pools" for fleet_document() and Leader::document(). `waits`: why its hosts wait.
[[nodiscard]] base::Json pool_document(const Pool& pool, const PoolNumbers& numbers,
                                       const std::string& waits);

/// Returns `gpuhostctl fleet status --json` without the member "server". `now`: seconds since 1970.
[[nodiscard]] base::Json fleet_document(const FleetFacts& facts, const Policy& policy, std::int64_t now);

} // namespace gpuhost::cluster
