// SPDX-License-Identifier: Apache-2.0
// Computes the changes to a Node that an UpgradeDecision requires. Pure.
#pragma once

#include "daemon/cluster/node/node_change.hpp"
#include "daemon/cluster/upgrade/upgrade.hpp"

namespace gpuhost::cluster {

struct UpgradePatch {
    NodePatch node;                    ///< a merge patch with the resourceVersion of `node`
    bool only_reason = false;          ///< nothing else on the Node changes
    std::vector<UpgradeEvent> events;  ///< events about NVIDIA's annotations, to send after the write
    std::vector<std::string> failures; ///< event texts up to the reason, sent if the server refuses
};

[[nodiscard]] UpgradePatch upgrade_patch(const base::Json& node, const UpgradeDecision& move);

/// Returns an event about the Node, in namespace default like the kubelet's. See
/// https://kubernetes.io/docs/reference/kubernetes-api/core/event-v1/.
[[nodiscard]] base::Json upgrade_event(const UpgradeNode& node, const UpgradeEvent& event,
                                       std::uint64_t now_us);

} // namespace gpuhost::cluster
