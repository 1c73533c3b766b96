// SPDX-License-Identifier: Apache-2.0
// Chooses the pods that must leave a node for a driver upgrade, and finds pods that cannot leave. Pure
// functions. The rules are the GPU Operator's, which are those of kubectl drain:
// https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/
#pragma once

#include "daemon/base/json_fwd.hpp"
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
    bool uses_gpu = false;     ///< from its spec, or set by GpuUsers::mark()
    bool holds_driver = false; ///< one of its processes uses the driver; set by GpuUsers::mark()
    bool is_daemon = false;    ///< owned by a DaemonSet, which would recreate it at once
    bool is_mirror = false;    ///< a static pod, from a file on the host
    std::string static_uid;    ///< if is_mirror: the UID that the pod's processes have on the host
    bool is_operand = false;   ///< paused with NVIDIA's operands: is_paused_by() a label of its nodeSelector
    bool is_managed = false;
    bool has_empty_dir = false;
    bool is_validator = false;       ///< a pod of the GPU Operator that reports whether the node's GPUs work
    std::vector<std::string> claims; ///< names of its ResourceClaims
    std::int64_t started = 0;        ///< seconds since 1970 by this host's clock; 0: not started
    std::int64_t grace_ends = 0;     ///< if is_leaving: seconds since 1970, by the server's clock

    [[nodiscard]] std::string text() const { return space + "/" + name; }
};

[[nodiscard]] PodFacts pod_facts(const base::Json& pod);

/// The pods of the node that the task `act` (WaitForJobs, DeletePods, Drain or Validate) concerns.
struct PodChoice {
    /// Pods that must leave. For WaitForJobs, pods that must end; for Validate, pods that must become ready.
    std::vector<const PodFacts*> leave;
    /// Pods that make the task impossible, with the reason. While there are any, no pod is moved.
    std::vector<std::string> refuse;
    std::vector<std::string> ignored; ///< pods that stay, with the reason
};
[[nodiscard]] PodChoice choose_pods(const std::map<std::string, PodFacts>& pods, UpgradeAct act,
                                    const UpgradePolicy& policy);

/// Returns the disruption budget that refuses an eviction, from the server's answer: "web (needs 2 healthy
/// pods and has 2 currently)". Empty if the answer names no budget.
[[nodiscard]] std::string budget_in_the_way(const base::Json& status);

} // namespace gpuhost::cluster
