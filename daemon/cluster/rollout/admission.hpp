// SPDX-License-Identifier: Apache-2.0
// Decides which hosts may upgrade now: a pure function of the fleet and the policy. The next leader reads the same fleet, but
// for Fleet::unused, which it learns anew.
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

/// A host, and where the policy puts it.
struct FleetHost {
    UpgradeNode node;
    std::size_t pool = 0;
    std::uint64_t waves = 0; ///< a bit for each wave of the pool that selects it
    std::string topology;    ///< its value of the pool's topologyKey; empty: none
};

/// A Lease gpuhost-upgrade-NODE.
struct Grant {
    std::string node;
    std::string uid;     ///< of the Node that it was for
    Seconds silent{0};   ///< for how long nobody has renewed it
    Seconds duration{0}; ///< for how long it counts on its host without that
    bool taken = true;   ///< its host has renewed it, which it does before anything else
};

/// A host from which a grant was taken away before it began.
struct Unused {
    unsigned times = 0;
    Seconds wait{0}; ///< before it gets another one
    Time until{0};   ///< the end of `wait`, by the leader's clock
};

struct Fleet {
    std::map<std::string, FleetHost> hosts;
    std::map<std::string, Grant> grants;
    std::map<std::string, Unused> unused; ///< by node; only the leader knows of these
};

/// So many grants in a row that a host does not use make it one that its wave does not wait for.
inline constexpr unsigned away_after = 3;

/// A grant that is not taken within this time is taken away. A host renews its grant as soon as its watch shows it.
inline constexpr Seconds taken_within{60};

struct PoolNumbers {
    unsigned hosts = 0;
    unsigned pending = 0;
    unsigned in_progress = 0;
    unsigned done = 0;
    unsigned failed = 0;
    unsigned available = 0; ///< places for more, as the GPU Operator counts them; none while nobody may begin
};

struct Admission {
    std::vector<std::string> admit; ///< nodes to grant, in this order
    /// Nodes whose grant is to be taken away: its host does not use it, or is another one now. Until it is gone it counts.
    std::vector<std::string> revoke;
    std::map<std::string, std::string> waiting; ///< node → why it is not upgraded now
    /// Of each pool: why hosts wait that could be upgraded. Each of them writes it on its Node, so it has neither numbers
    /// nor names that change as the rollout proceeds.
    std::vector<std::string> reasons;
    std::vector<PoolNumbers> pools;
    std::set<Gate> asks; ///< gates that hosts could begin but for: each is shut, or nobody knows
    std::optional<std::int64_t> again; ///< when the time alone changes the answer
};

/// Where `policy` puts a host.
[[nodiscard]] FleetHost place(UpgradeNode node, const Labels& labels, const Policy& policy);

/// `now`: seconds since 1970. While a gate is in none of `gates`, who could begin but for it keeps a place, and is not admitted.
[[nodiscard]] Admission admit(const Fleet& fleet, const Policy& policy, const GateStates& gates,
                              std::int64_t now);

} // namespace gpuhost::cluster
