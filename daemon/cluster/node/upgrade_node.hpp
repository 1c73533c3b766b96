// SPDX-License-Identifier: Apache-2.0
// What a Node says of its host's driver upgrade: the GPU Operator's labels and annotations, and ours beside them.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/cluster/kube/selector.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

namespace key {
// https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-driver-upgrades.html
inline constexpr const char* state = "nvidia.com/gpu-driver-upgrade-state";
inline constexpr const char* skip = "nvidia.com/gpu-driver-upgrade.skip";
inline constexpr const char* drain_skip = "nvidia.com/gpu-driver-upgrade-drain.skip"; ///< of a pod
inline constexpr const char* requested = "nvidia.com/gpu-driver-upgrade-requested";
inline constexpr const char* was_unschedulable =
    "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable";
inline constexpr const char* wait_began = "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time";
inline constexpr const char* validation_began = "nvidia.com/gpu-driver-upgrade-validation-start-time";
inline constexpr const char* deploy_prefix = "nvidia.com/gpu.deploy.";
inline constexpr const char* gpu_present = "nvidia.com/gpu.present";
// Ours
inline constexpr const char* record = "gpuhost.io/upgrade"; ///< UpgradeRecord, as JSON
inline constexpr const char* reason =
    "gpuhost.io/upgrade-reason"; ///< why the host is where it is, for people
} // namespace key

enum class UpgradeState {
    Unknown, ///< no label
    UpgradeRequired,
    CordonRequired,
    WaitForJobsRequired,
    PodDeletionRequired,
    DrainRequired,
    PodRestartRequired, ///< the GPU Operator restarts its driver pod: here the driver is swapped
    ValidationRequired,
    UncordonRequired,
    UpgradeDone,
    UpgradeFailed,
};

/// "upgrade-required"; empty for Unknown.
[[nodiscard]] std::string_view state_name(UpgradeState state);
/// What is none of them is Unknown.
[[nodiscard]] UpgradeState state_of(std::string_view name);
/// The host has its grant, or should.
[[nodiscard]] bool is_under_way(UpgradeState state);

/// What must outlive gpuhost-cluster, and a boot. Times are seconds since 1970.
struct UpgradeRecord {
    UpgradeState state =
        UpgradeState::Unknown; ///< as it was written last: a label that says otherwise is somebody's wish
    std::string version;       ///< it is about
    std::string from;          ///< what ran before
    std::int64_t since = 0;    ///< of this state
    unsigned attempts = 0;     ///< begun
    std::int64_t retry_at = 0;
    bool prepared = false;  ///< everything that can be checked before pods are moved has been
    bool requested = false; ///< by a person, whatever runs
    bool cordoned = false;  ///< by us
    bool drained = false;   ///< in this attempt: nothing is in the way of a reboot
    bool away = false;      ///< not ready, or cordoned by others, since before it took this version
    std::string boot;       ///< the boot that was to end, when the host was rebooted
    unsigned reboots = 0;
    std::string failure; ///< its class, one word: "eviction", "swap", "validation", …
    std::string cause;

    [[nodiscard]] bool operator==(const UpgradeRecord&) const = default;
};

[[nodiscard]] base::Json to_json(const UpgradeRecord& record);
[[nodiscard]] UpgradeRecord
record_from_json(const base::Json& value); ///< what makes no sense is as if it was not there

/// One host of the fleet, as its Node has it.
struct UpgradeNode {
    std::string name;
    std::string uid;
    UpgradeState state = UpgradeState::Unknown; ///< of the label; without one, of a record that has not ended
    UpgradeRecord record;
    std::string reason;
    bool requested = false;
    bool was_unschedulable = false;
    bool skip = false;
    bool ready = true;        ///< where the Node does not say, as everybody takes it
    bool driver_ready = true; ///< unless its condition is False
    bool unschedulable = false;
    bool leaving = false;  ///< it is being deleted, or an autoscaler has chosen it
    bool gpu_label = true; ///< its label nvidia.com/gpu.present is "true"
    bool managed = true;   ///< gpuhost runs there: its record or one of its conditions is on the Node

    /// An administrator has cordoned it, not we.
    [[nodiscard]] bool others_cordoned() const {
        return unschedulable && (was_unschedulable || !record.cordoned);
    }
};

[[nodiscard]] UpgradeNode upgrade_node(const base::Json& node);
[[nodiscard]] Labels labels_of(const base::Json& object);

} // namespace gpuhost::cluster
