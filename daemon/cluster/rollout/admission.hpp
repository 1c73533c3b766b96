// SPDX-License-Identifier: Apache-2.0
// Decides which hosts may upgrade now: a pure function of the fleet and the policy. After a change of leader,
// the new leader reads the same fleet from the server, except Fleet::unused, which starts empty.
#pragma once

#include "daemon/cluster/kube/backoff.hpp"
#include "daemon/cluster/node/upgrade_node.hpp"
#include "daemon/cluster/policy/gate.hpp"
#include "daemon/cluster/policy/policy.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuhost::cluster {

/// A host, with its pool and waves in the policy.
struct FleetHost {
    UpgradeNode node;
    std::size_t pool = 0;
    std::uint64_t waves = 0; ///< one bit for each wave of the pool that selects the host
    std::string topology;    ///< value of the pool's topologyKey label; empty: none
};

/// The leader's permission to upgrade one host: the Lease gpuhost-upgrade-NODE.
struct Grant {
    std::string node;
    std::string uid;     ///< UID of the Node that the grant was created for
    Seconds silent{0};   ///< time since the last renewal
    Seconds duration{0}; ///< how long the host may use the grant after a renewal
    bool taken = true;   ///< the host has renewed the grant, which is its first action
    Time seen{0};        ///< time of the last renewal, by the leader's monotonic clock
};

/// A host that did not use its last grants: the leader revoked them before the host began.
struct Unused {
    unsigned times = 0;
    Seconds wait{0}; ///< time before the host gets another grant
    Time until{0};   ///< end of `wait`, by the leader's monotonic clock
};

struct Fleet {
    std::map<std::string, FleetHost> hosts;
    std::map<std::string, Grant> grants;
    std::map<std::string, Unused> unused; ///< keyed by node; only the leader knows them
};

/// After this many unused grants in a row, the host's wave no longer waits for the host.
inline constexpr unsigned away_after = 3;

/// If a host does not renew its new grant within this time, the grant is revoked. A host renews it as soon as
/// its watch shows the grant.
inline constexpr Seconds claim_deadline{60};

struct PoolNumbers {
    unsigned hosts = 0;
    unsigned pending = 0;
    unsigned in_progress = 0;
    unsigned done = 0;
    unsigned failed = 0;
    /// Number of hosts that may still begin now, counted as the GPU Operator does; 0 while none may begin.
    unsigned available = 0;
};

struct Admission {
    std::vector<std::string> admit; ///< nodes that get a grant now, in this order
    /// Nodes whose grant must be revoked: the host does not use the grant, or another Node has the name now.
    /// A grant counts until it is deleted.
    std::vector<std::string> revoke;
    std::map<std::string, std::string> waiting; ///< node → why the host is not upgraded now
    /// For each pool, the reason why upgradable hosts wait. Each of these hosts writes the reason on its
    /// Node, so the reason contains no numbers or names that change during the rollout.
    std::vector<std::string> reasons;
    std::vector<PoolNumbers> pools;
    /// Gates that are shut or have no answer yet. At least one host waits only for them.
    std::set<Gate> asks;
    std::optional<std::int64_t> again; ///< when time alone changes the result, in seconds since 1970
};

/// Returns the host with its pool, waves and topology under `policy`.
[[nodiscard]] FleetHost place(UpgradeNode node, const Labels& labels, const Policy& policy);

/// Decides for the whole fleet. `now`: seconds since 1970. A host that waits only for a gate missing in
/// `gates` is not admitted, but its place is reserved.
[[nodiscard]] Admission admit(const Fleet& fleet, const Policy& policy, const GateStates& gates,
                              std::int64_t now);

} // namespace gpuhost::cluster
