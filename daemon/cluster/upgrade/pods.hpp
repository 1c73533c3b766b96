// SPDX-License-Identifier: Apache-2.0
// Chooses the pods that must leave a node for a driver upgrade, and finds those that cannot. Pure. The rules
// are the GPU Operator's, which are those of kubectl drain:
// https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/
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
    bool uses_gpu = false;     ///< by its spec, or set by GpuUsers::mark()
    bool holds_driver = false; ///< one of its processes holds it; set by GpuUsers::mark()
    bool is_daemon = false;    ///< owned by a DaemonSet, which would recreate it at once
    bool is_mirror = false;    ///< a static pod, from a file on the host
    std::string static_uid;    ///< with is_mirror: the UID that its processes have on the host
    bool is_operand = false;   ///< is_paused_by() a label in its nodeSelector
    bool is_managed = false;
    bool has_empty_dir = false;
    bool is_validator = false;       ///< the GPU Operator's, which reports whether a node's GPUs work
    std::vector<std::string> claims; ///< names of its ResourceClaims
    std::int64_t started = 0;        ///< seconds since 1970 by this host's clock; 0: not started
    std::int64_t grace_ends = 0;     ///< with is_leaving: seconds since 1970 by the server's clock

    [[nodiscard]] std::string text() const { return space + "/" + name; }
};

[[nodiscard]] PodFacts pod_facts(const base::Json& pod);

/// The pods of the node that `act` (WaitForJobs, DeletePods, Drain, Validate) concerns.
struct PodChoice {
    /// Pods that must leave. For WaitForJobs: that must end; for Validate: that must become ready.
    std::vector<const PodFacts*> leave;
    /// Pods that block the task, with the reason. While there are any, no pod is moved.
    std::vector<std::string> refuse;
    std::vector<std::string> ignored; ///< pods that stay, with the reason
};
[[nodiscard]] PodChoice choose_pods(const std::map<std::string, PodFacts>& pods, UpgradeAct act,
                                    const UpgradePolicy& policy);

/// Returns the server's message about a budget that keeps a pod: "web (needs 2 healthy pods and has 2
/// currently)". Empty: no budget.
[[nodiscard]] std::string budget_in_the_way(const base::Json& status);

} // namespace gpuhost::cluster
