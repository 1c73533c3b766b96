// SPDX-License-Identifier: Apache-2.0
// Reads the state of a host's driver upgrade from its Node: from the GPU Operator's labels and annotations,
// and from gpuhost's own.
#pragma once

#include "daemon/base/json_fwd.hpp"
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
inline constexpr const char* drain_skip = "nvidia.com/gpu-driver-upgrade-drain.skip"; ///< a label of pods
inline constexpr const char* requested = "nvidia.com/gpu-driver-upgrade-requested";
inline constexpr const char* was_unschedulable =
    "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable";
inline constexpr const char* wait_began = "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time";
inline constexpr const char* validation_began = "nvidia.com/gpu-driver-upgrade-validation-start-time";
inline constexpr const char* deploy_prefix = "nvidia.com/gpu.deploy.";
inline constexpr const char* gpu_present = "nvidia.com/gpu.present";
// Labels and annotations of gpuhost itself.
inline constexpr const char* record = "gpuhost.io/upgrade"; ///< UpgradeRecord, as JSON
/// The reason why the host is in its state, as text for people.
inline constexpr const char* reason = "gpuhost.io/upgrade-reason";
} // namespace key

enum class UpgradeState {
    Unknown, ///< no label
    UpgradeRequired,
    CordonRequired,
    WaitForJobsRequired,
    PodDeletionRequired,
    DrainRequired,
    PodRestartRequired, ///< the GPU Operator restarts its driver pod; here the driver is swapped
    ValidationRequired,
    UncordonRequired,
    UpgradeDone,
    UpgradeFailed,
};

/// Returns "upgrade-required"; empty for Unknown.
[[nodiscard]] std::string_view state_name(UpgradeState state);
/// Returns Unknown for any other name.
[[nodiscard]] UpgradeState state_of(std::string_view name);
/// Returns true for a state in which a host needs a grant, the leader's permission to upgrade
/// (rollout/grant.hpp).
[[nodiscard]] bool is_under_way(UpgradeState state);

/// The part of an upgrade's state that must survive restarts of gpuhost-cluster and reboots; an annotation on
/// the Node. Times are in seconds since 1970.
struct UpgradeRecord {
    /// The state that gpuhost-cluster wrote last. If the label has another state, a person has changed the
    /// label to request something.
    UpgradeState state = UpgradeState::Unknown;
    std::string version;    ///< version to upgrade to
    std::string from;       ///< version that ran before
    std::int64_t since = 0; ///< time when `state` began
    unsigned attempts = 0;  ///< attempts begun
    std::int64_t retry_at = 0;
    bool prepared = false;  ///< all checks that are possible before pods are moved have passed
    bool requested = false; ///< a person requested the upgrade: it is done even if the version runs already
    bool cordoned = false;  ///< gpuhost-cluster cordoned the node
    bool drained = false;   ///< drained in this attempt, so a reboot is possible
    /// The Node was not ready, or was cordoned by others, already before this version, and has been so ever
    /// since.
    bool away = false;
    std::string boot; ///< ID of the boot in which the reboot was requested
    unsigned reboots = 0;
    std::string failure; ///< class of the failure, one word: "eviction", "swap", "validation", …
    std::string cause;

    [[nodiscard]] bool operator==(const UpgradeRecord&) const = default;
};

[[nodiscard]] base::Json to_json(const UpgradeRecord& record);
/// Reads a record. Invalid members are treated as absent.
[[nodiscard]] UpgradeRecord record_from_json(const base::Json& value);

/// A host of the fleet, as read from its Node.
struct UpgradeNode {
    std::string name;
    std::string uid;
    /// The state in the label. If the label is absent, the state in the record of an unfinished upgrade.
    UpgradeState state = UpgradeState::Unknown;
    UpgradeRecord record;
    std::string reason;
    bool requested = false;
    bool was_unschedulable = false;
    bool skip = false;
    bool ready = true;        ///< also true if the Node has no condition Ready, as in other programs
    bool driver_ready = true; ///< false only if the condition DriverReady is False
    bool unschedulable = false;
    bool leaving = false;  ///< being deleted, or chosen for removal by an autoscaler
    bool gpu_label = true; ///< label nvidia.com/gpu.present is "true"
    /// gpuhost runs on the host: the Node has gpuhost's record or one of gpuhost's conditions.
    bool managed = true;
    bool no_gpu = false;        ///< the condition DriverReady says that the host has no GPU
    std::int64_t heartbeat = 0; ///< of the condition DriverReady, in seconds since 1970; 0: none

    /// Returns true if a person or another program has cordoned the node.
    [[nodiscard]] bool others_cordoned() const {
        return unschedulable && (was_unschedulable || !record.cordoned);
    }
};

[[nodiscard]] UpgradeNode upgrade_node(const base::Json& node);
[[nodiscard]] Labels labels_of(const base::Json& object);

} // namespace gpuhost::cluster
