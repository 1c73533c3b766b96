// SPDX-License-Identifier: Apache-2.0
// A fleet's upgrade as people look at it: a pure function of its Nodes, its grants and the policy, which any host can read.
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
    LeaseFacts leader;  ///< without a name: there is none
    LeaseFacts rollout; ///< likewise
};

/// Where a host is, as far as an administrator cares: what is wrong comes first.
enum class FleetPhase { Failed, Upgrading, Waiting, Other, Done };

[[nodiscard]] std::string_view phase_name(FleetPhase phase);

/// Nobody has renewed its lease for so long that it is none any more, as far as clocks of two hosts agree.
[[nodiscard]] bool is_silent(const LeaseFacts& leader, std::int64_t now);

/// "pools" of both documents.
[[nodiscard]] base::Json pool_document(const Pool& pool, const PoolNumbers& numbers,
                                       const std::string& waits);

/// Of `gpuhostctl cluster status --fleet --json`, less its server. `now`: seconds since 1970.
[[nodiscard]] base::Json fleet_document(const FleetFacts& facts, const Policy& policy, std::int64_t now);

} // namespace gpuhost::cluster
