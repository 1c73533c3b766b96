// SPDX-License-Identifier: Apache-2.0
// The cluster's policy for driver upgrades: gpuhost-policy(5).
#pragma once

#include "daemon/cluster/kube/selector.hpp"
#include "daemon/cluster/policy/gate.hpp"
#include "daemon/cluster/policy/merge.hpp"
#include "daemon/cluster/policy/windows.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::cluster {

using Seconds = std::chrono::seconds;

/// A number such as 3, or a percentage such as 25 %. Percentages are rounded up, as Kubernetes does for the
/// GPU Operator's maxUnavailable.
struct CountOrShare {
    unsigned number = 0;
    bool percent = false;

    [[nodiscard]] unsigned of(unsigned total) const;
    [[nodiscard]] std::string text() const;
};

enum class UpgradeMode {
    Controlled, ///< autoUpgrade is on: the leader upgrades hosts, like the GPU Operator's upgrade controller
    OnRequest,  ///< autoUpgrade is off: a host upgrades only if an administrator requests it
};

/// How pods are moved off a node. A time of 0 is unlimited.
struct PodRules {
    bool enabled = true;
    bool force = false;            ///< also pods that no controller would recreate
    bool delete_empty_dir = false; ///< also pods whose emptyDir would be deleted
    Seconds timeout{0};
    Selector selector; ///< only for a drain
};

/// A group of hosts that upgrades before later waves. A wave is done when all its hosts are done and `soak`
/// has passed since the last one was done.
struct Wave {
    std::string name;
    Selector selector;
    CountOrShare size; ///< count or share of the hosts that `selector` selects; 0: all
    Seconds soak{0};
};

/// The part of the policy that may differ between pools of hosts.
struct UpgradePolicy {
    bool driver_enabled = true;
    std::string version; ///< the wanted version; empty: not set
    UpgradeMode mode = UpgradeMode::OnRequest;
    unsigned max_parallel = 1; ///< 0: no limit
    CountOrShare max_unavailable;
    /// max_unavailable also counts hosts that were unavailable before the rollout, as the GPU Operator does.
    bool count_all_unavailable = false;
    Selector wait_for; ///< pods to wait for first; empty: none
    Seconds wait_timeout{0};
    PodRules deletion; ///< deletion of pods that use GPUs
    PodRules drain;    ///< drain of all pods, if the deletion is not sufficient
    bool override_pdb = false;
    CountOrShare failure_budget;
    unsigned retries = 0;
    Seconds retry_delay{0};
    bool rollback = true;
    bool may_reboot = false;
    Seconds swap_timeout{0};
    Seconds validation_timeout{0};
    std::string topology_key; ///< at a time, only hosts with one value of this label upgrade
    std::vector<Wave> waves;
    std::vector<Window> windows;
    std::vector<Gate> gates;
};

struct Pool {
    std::string name;
    Selector selector;
    UpgradePolicy policy;
};

struct Policy {
    std::vector<Pool> pools;   ///< a host is in the first pool that selects it; the last pool selects all
    unsigned max_parallel = 0; ///< for all pools together; 0: no limit
    Seconds silence{0};        ///< an upgrading host whose grant is not renewed for this long counts as lost
    bool release_silent = false;
    std::string toolkit;                 ///< version; empty: the hosts' own configuration decides
    std::vector<PolicyProblem> problems; ///< while there are any, no upgrade begins

    [[nodiscard]] std::size_t pool_of(const Labels& labels) const;
};

/// Returns the values of a pool: those of its element of rollout.pools on top of the common ones. The origin
/// of its own values is "pool 'NAME'".
[[nodiscard]] MergedPolicy pool_values(const MergedPolicy& merged, const base::Json& pool);

[[nodiscard]] Policy read_policy(const MergedPolicy& merged);

} // namespace gpuhost::cluster
