// SPDX-License-Identifier: Apache-2.0
// Computes the changes to this host's Node: a pure function of the Node and of the host's readiness.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/cluster/node/readiness.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::cluster {

/// The configured taints and conditions:
/// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
struct NodeDesired {
    std::vector<std::string> taints;   ///< keys of taints that keep pods off the Node until the host is ready
    bool taint_when_not_ready = false; ///< also add the first of `taints` whenever the host is not ready
    std::vector<std::string> ready;    ///< types of the conditions that make the host ready

    bool operator==(const NodeDesired&) const = default;
};

struct NodePatch {
    base::Json body;                    ///< null: no change
    std::vector<std::string> log_lines; ///< one line for each change
};

struct NodeChange {
    std::vector<NodePatch> node;   ///< merge patches of the Node, one for each field
    std::vector<NodePatch> status; ///< strategic merge patches of its status, one for each condition
    /// Merge patches of the labels that describe GPUs, for joined_labels(). Separate, because the server may
    /// refuse only these: its policy may be of an older gpuhost.
    std::vector<NodePatch> labels;
    /// A strategic merge patch of the status that renews lastHeartbeatTime of old conditions. Null: no
    /// condition is old.
    base::Json heartbeat;
};

/// Joins patches of the same object into one. They must set different fields.
[[nodiscard]] NodePatch joined(std::vector<NodePatch>&& patches);

/// The age in seconds at which lastHeartbeatTime of an unchanged condition is renewed. gpuhost-cluster
/// checks this twice a minute, so two writes are at most five minutes apart.
inline constexpr std::int64_t heartbeat = 270;

/// Returns the changes of `node` that `readiness` and `desired` require. All patches have the resourceVersion
/// of `node`, so that a server with a later version refuses them. `now`: "2026-11-22T16:00:00Z".
[[nodiscard]] NodeChange change_node(const base::Json& node, const Readiness& readiness,
                                     const NodeDesired& desired, const std::string& now);

/// Returns those conditions of a Node that are written by gpuhost.
[[nodiscard]] std::vector<Condition> conditions_of(const base::Json& node);
/// Returns those keys of `desired` that are taints of the Node now.
[[nodiscard]] std::vector<std::string> taints_of(const base::Json& node, const NodeDesired& desired);

} // namespace gpuhost::cluster
