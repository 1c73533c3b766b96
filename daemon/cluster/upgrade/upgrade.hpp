// SPDX-License-Identifier: Apache-2.0
// The state machine of a host's driver upgrade. Computes what to write on the Node and what to do meanwhile,
// from the Node, the policy and the state of the host. A pure function: a caller that asks again after a
// crash or a boot continues from there. The states are the GPU Operator's.
#pragma once

#include "daemon/cluster/node/upgrade_node.hpp"
#include "daemon/cluster/policy/policy.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::cluster {

/// Long-running work by another component, for one version.
struct Task {
    enum class State { None, Running, Done, Failed };
    State state = State::None;
    std::string text;      ///< what it does or waits for; after a failure the reason
    bool is_final = false; ///< a retry would fail again
    /// Seconds since 1970. The task is not late before this time, because its pods have not been visible for
    /// long enough.
    std::int64_t late_from = 0;

    [[nodiscard]] bool is_done() const { return state == State::Done; }
    [[nodiscard]] bool has_failed() const { return state == State::Failed; }
};

struct HostDriver {
    bool is_known = false; ///< the daemon has reported it
    bool has_gpus = false;
    std::string running; ///< version; empty: none
    /// An operation that may change the running driver is in progress: the driver is neither ready nor
    /// broken.
    bool changing = false;
    bool ready = false;    ///< the driver runs and is complete
    std::string problem;   ///< why it is not ready
    std::string pinned;    ///< the version that gpuhostd.conf pins; empty: none
    std::string requested; ///< the version that an administrator of the host requested; empty: none
    bool reboot_required = false;
    bool swaps = false; ///< a swap is in progress, whatever the Node says
    std::string boot;   ///< ID of this boot
};

struct UpgradeInput {
    UpgradeNode node;
    Labels labels;
    std::string pool;
    const UpgradePolicy* policy = nullptr; ///< null: not known yet
    std::string policy_problem;            ///< while set, no upgrade begins
    /// Why hosts of this pool wait, as the leader reports; empty: not known.
    std::string waits;
    HostDriver driver;
    bool granted = false; ///< the grant exists and has been renewed in time
    bool revoked = false; ///< it is known that no grant exists
    Task check;           ///< whether `policy->version` can be swapped to
    Task jobs;            ///< the wait for jobs
    Task pods;            ///< in pod-deletion-required the deletion, otherwise the drain
    Task swap;
    Task validators;      ///< validation by other components' pods on this host
    std::int64_t now = 0; ///< seconds since 1970
};

enum class UpgradeAct {
    None,
    Check,
    WaitForJobs,
    DeletePods,
    Drain,
    Swap,
    CancelSwap,
    Validate,
    RollBack,
    Reboot
};

struct UpgradeEvent {
    bool warning = false;
    std::string message;
};

struct UpgradeDecision {
    UpgradeState state = UpgradeState::Unknown; ///< written to the Node, with the record
    UpgradeRecord record;
    std::string reason;             ///< written to the Node; empty: none
    std::optional<bool> cordon;     ///< new value of spec.unschedulable
    bool was_unschedulable = false; ///< whether the annotation should be present
    std::optional<std::int64_t> wait_began;
    std::optional<std::int64_t> validation_began;
    std::map<std::string, std::string> labels; ///< changed labels to write
    UpgradeAct act = UpgradeAct::None;         ///< started after all of that is written
    bool wants_grant = false;                  ///< the host uses a grant, or would use one
    /// The version that the host installs when an administrator asks for it; empty: none.
    std::string offer;
    /// The request of an administrator of the host is recorded on the Node by now, or is void.
    bool drops_request = false;
    std::optional<std::int64_t> due;  ///< when the passing of time alone changes the result
    std::vector<UpgradeEvent> events; ///< sent after the Node is written
};

[[nodiscard]] UpgradeDecision next_decision(const UpgradeInput& situation);

/// Return the changed labels that keep NVIDIA's own operands off a node while its driver changes, and that
/// bring them back, like k8s-driver-manager.
[[nodiscard]] std::map<std::string, std::string> paused(const Labels& labels);
[[nodiscard]] std::map<std::string, std::string> unpaused(const Labels& labels);
/// Returns whether paused() keeps off the pods that select nodes by `label`.
[[nodiscard]] bool is_paused_by(std::string_view label);

} // namespace gpuhost::cluster
