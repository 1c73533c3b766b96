// SPDX-License-Identifier: Apache-2.0
// Returns what is to change on this host's Node: a pure function of the Node as it is, and of what is known here.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/cluster/node/readiness.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::cluster {

/// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
struct NodeWish {
    std::vector<std::string> taints;   ///< keys of those that keep pods away until the host is ready
    bool taint_when_not_ready = false; ///< put the first of them there, too, whenever it is not
    std::vector<std::string> ready;    ///< types of the conditions that it takes
};

struct NodePatch {
    base::Json body;               ///< null: nothing
    std::vector<std::string> said; ///< what it changes, for the log, one line each
};

struct NodeChange {
    std::vector<NodePatch> node;   ///< merge patches of the Node, one for each field
    std::vector<NodePatch> status; ///< strategic merge patches of its status, one for each condition
    /// A strategic merge patch of its status that renews the times of conditions. Null: none is old.
    base::Json heartbeat;
};

/// Joins patches of one kind that set different fields.
[[nodiscard]] NodePatch joined(std::vector<NodePatch>&& patches);

/// The age in seconds at which lastHeartbeatTime of an unchanged condition is renewed. The host looks twice a minute, so
/// that writes are at most five minutes apart.
inline constexpr std::int64_t heartbeat = 270;

/// All patches name the version of `node`: a server that has a later one refuses them. `now`: "2026-11-22T16:00:00Z".
[[nodiscard]] NodeChange change_node(const base::Json& node, const Readiness& readiness, const NodeWish& wish,
                                     const std::string& now);

/// The conditions of ours on a Node.
[[nodiscard]] std::vector<Condition> conditions_of(const base::Json& node);
/// Keys of the taints of `wish` that are on a Node.
[[nodiscard]] std::vector<std::string> taints_of(const base::Json& node, const NodeWish& wish);

} // namespace gpuhost::cluster
