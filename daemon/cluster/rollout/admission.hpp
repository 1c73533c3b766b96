// SPDX-License-Identifier: Apache-2.0
// Decides which hosts may upgrade now. A pure function of the fleet and the policy. The next leader reads the
// same fleet, except Fleet::unused, which it learns again.
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

/// A host, with its place in the policy.
struct FleetHost {
    UpgradeNode node;
    std::size_t pool = 0;
    std::uint64_t waves = 0; ///< one bit for each wave of the pool that selects the host
    std::string topology;    ///< value of the pool's topologyKey label; empty: none
};

/// The Lease gpuhost-upgrade-NODE.
struct Grant {
    std::string node;
    std::string uid;     ///< UID of the Node that it was created for
    Seconds silent{0};   ///< time since the last renewal
    Seconds duration{0}; ///< how long it counts on its host without a renewal
    bool taken = true;   ///< the host has renewed it, which it does first of all
};

/// A host whose grant was revoked before the host began.
struct Unused {
    unsigned times = 0;
    Seconds wait{0}; ///< before the host gets another grant
    Time until{0};   ///< the end of `wait`, by the leader's clock
};

struct Fleet {
    std::map<std::string, FleetHost> hosts;
    std::map<std::string, Grant> grants;
    std::map<std::string, Unused> unused; ///< keyed by node; only the leader knows them
};

/// After this many unused grants in a row, its wave does not wait for the host.
inline constexpr unsigned away_after = 3;

/// A grant that its host does not take within this time is revoked. A host renews its grant as soon as its
/// watch shows it.
inline constexpr Seconds claim_deadline{60};

struct PoolNumbers {
    unsigned hosts = 0;
    unsigned pending = 0;
    unsigned in_progress = 0;
    unsigned done = 0;
    unsigned failed = 0;
    /// Free places, as the GPU Operator counts them; 0 while no host may begin.
    unsigned available = 0;
};

struct Admission {
    std::vector<std::string> admit; ///< nodes to grant, in this order
    /// Nodes whose grant must be revoked: the host does not use it, or the Node is another one now. The grant
    /// counts until it is deleted.
    std::vector<std::string> revoke;
    std::map<std::string, std::string> waiting; ///< node → why it is not upgraded now
    /// For each pool, why hosts wait that could be upgraded. Each of them writes the text on its Node, so it
    /// contains no numbers or names that change as the rollout proceeds.
    std::vector<std::string> reasons;
    std::vector<PoolNumbers> pools;
    std::set<Gate> asks;               ///< gates that alone keep hosts from beginning: shut or not known
    std::optional<std::int64_t> again; ///< when time alone changes the result
};

/// Returns the host's pool, waves and topology under `policy`.
[[nodiscard]] FleetHost place(UpgradeNode node, const Labels& labels, const Policy& policy);

/// Decides for the whole fleet. `now`: seconds since 1970. A host that waits only for a gate missing in
/// `gates` is not admitted, but a place is reserved for it.
[[nodiscard]] Admission admit(const Fleet& fleet, const Policy& policy, const GateStates& gates,
                              std::int64_t now);

} // namespace gpuhost::cluster
