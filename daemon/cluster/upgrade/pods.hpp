// SPDX-License-Identifier: Apache-2.0
// Which pods of a node must leave it for a driver upgrade, and which can't: pure. The rules are those of the GPU Operator,
// which are kubectl drain's: https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/cluster/upgrade/upgrade.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpuhost::cluster {

struct PodFacts {
    std::string space; ///< namespace
    std::string name;
    std::string uid;
    Labels labels;
    bool is_active = false; ///< Running or Pending
    bool is_leaving = false;
    bool is_ready = false;
    bool uses_gpu = false;     ///< by its spec, or as GpuUsers::mark() has found out
    bool holds_driver = false; ///< a process of it does, as GpuUsers::mark() has found out
    bool is_daemon = false;    ///< of a DaemonSet, which would make it again at once
    bool is_mirror = false;    ///< of a file on the host
    std::string static_uid;    ///< with is_mirror: the uid that its processes have on the host
    bool is_operand = false;   ///< is_paused_by() of a label in its nodeSelector
    bool is_managed = false;
    bool has_empty_dir = false;
    bool is_validator = false;       ///< the GPU Operator's, which says whether a node's GPUs work
    std::vector<std::string> claims; ///< names of its ResourceClaims
    std::int64_t started = 0;        ///< by the clock of this host, seconds since 1970; 0: not yet
    std::int64_t grace_ends = 0;     ///< with is_leaving, likewise by the server's clock

    [[nodiscard]] std::string text() const { return space + "/" + name; }
};

[[nodiscard]] PodFacts pod_facts(const base::Json& pod);

/// Of all pods of the node those that `act` (WaitForJobs, DeletePods, Drain, Validate) is about.
struct PodChoice {
    std::vector<const PodFacts*> leave; ///< are to go; of WaitForJobs to end, of Validate to get ready
    std::vector<std::string> refuse;  ///< are in the way, and why: as long as there are any, nobody is to go
    std::vector<std::string> ignored; ///< stay, and why
};
[[nodiscard]] PodChoice choose_pods(const std::map<std::string, PodFacts>& pods, UpgradeAct act,
                                    const UpgradePolicy& policy);

/// What the server says of a budget that does not let a pod go: "web (needs 2 healthy pods and has 2 currently)"; empty: no budget.
[[nodiscard]] std::string budget_in_the_way(const base::Json& status);

} // namespace gpuhost::cluster
