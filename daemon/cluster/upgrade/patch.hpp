// SPDX-License-Identifier: Apache-2.0
// Computes the patch of a Node for an UpgradeDecision. Pure functions.
#pragma once

#include "daemon/cluster/node/node_change.hpp"
#include "daemon/cluster/upgrade/upgrade.hpp"

namespace gpuhost::cluster {

struct UpgradePatch {
    NodePatch node;           ///< a merge patch with the resourceVersion of `node`
    bool only_reason = false; ///< the patch changes only the reason
    /// Events about NVIDIA's annotations, sent after the server has accepted the patch.
    std::vector<UpgradeEvent> events;
    /// Starts of event texts. If the server refuses the patch, each text is sent with the server's reason.
    std::vector<std::string> failures;
};

[[nodiscard]] UpgradePatch upgrade_patch(const base::Json& node, const UpgradeDecision& move);

/// Returns an event about the Node `name`, in namespace "default" like the kubelet's events. `reason` is one
/// word in CamelCase. See https://kubernetes.io/docs/reference/kubernetes-api/core/event-v1/.
[[nodiscard]] base::Json node_event(const std::string& name, const std::string& uid,
                                    const std::string& reason, const UpgradeEvent& event,
                                    std::uint64_t now_us);
/// Returns an event with the reason of upgrades.
[[nodiscard]] base::Json upgrade_event(const UpgradeNode& node, const UpgradeEvent& event,
                                       std::uint64_t now_us);

} // namespace gpuhost::cluster
