// SPDX-License-Identifier: Apache-2.0
// What the cluster's administrators want of driver upgrades, in values: gpuhost-policy(5).
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

/// 3, or 25 %, which is rounded up as Kubernetes rounds maxUnavailable of the GPU Operator.
struct CountOrShare {
    unsigned number = 0;
    bool percent = false;

    [[nodiscard]] unsigned of(unsigned total) const;
    [[nodiscard]] std::string text() const;
};

enum class UpgradeMode {
    Controlled, ///< autoUpgrade: as the GPU Operator's upgrade controller does it
    OnRequest,  ///< no autoUpgrade: hosts that an administrator labels
};

/// How pods are made to leave; times of 0 have no end.
struct PodRules {
    bool enabled = true;
    bool force = false;            ///< pods that no controller would make again, too
    bool delete_empty_dir = false; ///< pods whose emptyDir goes with them, too
    Seconds timeout{0};
    Selector selector; ///< of a drain
};

/// A wave is done when its hosts are, and `soak` has gone by since the last.
struct Wave {
    std::string name;
    Selector selector;
    CountOrShare size; ///< of the hosts that `selector` has; 0: all
    Seconds soak{0};
};

/// Of the hosts that share it.
struct UpgradePolicy {
    bool driver_enabled = true;
    std::string version; ///< wanted; empty: nobody says which
    UpgradeMode mode = UpgradeMode::OnRequest;
    unsigned max_parallel = 1; ///< 0: no limit
    CountOrShare max_unavailable;
    bool count_all_unavailable = false; ///< also those that were so before: as the GPU Operator counts
    Selector wait_for;                  ///< pods to let end first; empty: none
    Seconds wait_timeout{0};
    PodRules deletion; ///< of pods that have GPUs
    PodRules drain;    ///< of all, where that does not do
    bool override_pdb = false;
    CountOrShare failure_budget;
    unsigned retries = 0;
    Seconds retry_delay{0};
    bool rollback = true;
    bool may_reboot = false;
    Seconds swap_timeout{0};
    Seconds validation_timeout{0};
    std::string topology_key; ///< hosts of one value of this label at a time
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
    std::vector<Pool> pools;   ///< a host is in the first that selects it; the last selects all
    unsigned max_parallel = 0; ///< over all pools; 0: no limit
    Seconds silence{0};        ///< after which a host that upgrades counts as lost
    bool release_silent = false;
    std::string toolkit;               ///< version; empty: what the hosts' own files say
    std::vector<std::string> problems; ///< as long as there are any, no upgrade is begun

    [[nodiscard]] std::size_t pool_of(const Labels& labels) const;
};

[[nodiscard]] Policy read_policy(const MergedPolicy& merged);

} // namespace gpuhost::cluster
