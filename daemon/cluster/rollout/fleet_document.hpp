// SPDX-License-Identifier: Apache-2.0
// Describes a fleet's upgrade for people. A pure function of its Nodes, its grants and the policy, which any
// host can read.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/cluster/rollout/admission.hpp"
#include "daemon/cluster/rollout/grant.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

struct FleetFacts {
    Fleet fleet;
    LeaseFacts leader;  ///< the name is empty without a leader
    LeaseFacts rollout; ///< the name is empty without a Lease
};

/// A host's phase, as administrators see it. The most urgent is first.
enum class FleetPhase { Failed, Upgrading, Waiting, Other, Done };

[[nodiscard]] std::string_view phase_name(FleetPhase phase);

/// Returns whether the leader's Lease has expired, with a margin for the clocks of two hosts.
[[nodiscard]] bool is_silent(const LeaseFacts& leader, std::int64_t now);

/// Returns an element of "pools", for both documents.
[[nodiscard]] base::Json pool_document(const Pool& pool, const PoolNumbers& numbers,
                                       const std::string& waits);

/// Returns `gpuhostctl cluster status --fleet --json` without its server. `now`: seconds since 1970.
[[nodiscard]] base::Json fleet_document(const FleetFacts& facts, const Policy& policy, std::int64_t now);

} // namespace gpuhost::cluster
