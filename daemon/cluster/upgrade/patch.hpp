// SPDX-License-Identifier: Apache-2.0
// What of a Node a move of its upgrade changes. Pure.
#pragma once

#include "daemon/cluster/node/node_change.hpp"
#include "daemon/cluster/upgrade/upgrade.hpp"

namespace gpuhost::cluster {

struct UpgradePatch {
    NodePatch node;                    ///< a merge patch that names the version of `node`
    bool only_reason = false;          ///< nothing else of it changes
    std::vector<UpgradeEvent> events;  ///< of annotations of NVIDIA's, to tell once it is written
    std::vector<std::string> failures; ///< events in case the server refuses it, up to the reason
};

[[nodiscard]] UpgradePatch upgrade_patch(const base::Json& node, const UpgradeMove& move);

/// https://kubernetes.io/docs/reference/kubernetes-api/core/event-v1/, of the Node, in namespace default as the kubelet's.
[[nodiscard]] base::Json upgrade_event(const UpgradeNode& node, const UpgradeEvent& event,
                                       std::uint64_t now_us);

} // namespace gpuhost::cluster
