// SPDX-License-Identifier: Apache-2.0
// Which hosts may upgrade now: a pure function of the fleet as it is and of the policy. It needs no memory, so that whoever
// leads next decides the same.
#pragma once

#include "daemon/cluster/gate.hpp"
#include "daemon/cluster/policy.hpp"
#include "daemon/cluster/upgrade_node.hpp"

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
};

struct Fleet {
    std::map<std::string, FleetHost> hosts;
    std::map<std::string, Grant> grants;
};

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
    /// Of these there is nobody any more to use the grant, or it is to be given on, which it is once it is surely gone.
    std::vector<std::string> revoke;
    std::map<std::string, std::string> waiting; ///< node → why it is not upgraded now
    std::vector<std::string>
        reasons; ///< of each pool, for all that could be and wait: without numbers that change
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
