// SPDX-License-Identifier: Apache-2.0
// The state machine of one host's driver upgrade. From the Node, the policy and the state of the host it
// computes what to write on the Node and what to do next. A pure function: after a crash or a boot, a caller
// continues from the state on the Node. The states are the GPU Operator's.
#pragma once

#include "daemon/cluster/node/upgrade_node.hpp"
#include "daemon/cluster/policy/policy.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::cluster {

/// The state of long-running work for one version that gpuhostd or pods do.
struct Task {
    enum class State { None, Running, Done, Failed };
    State state = State::None;
    std::string text;      ///< what the task does or waits for; after a failure the reason
    bool is_final = false; ///< the task has failed, and a retry would fail again
    /// Seconds since 1970. Before this time the task does not count as late, because its pods have not been
    /// visible for long enough.
    std::int64_t late_from = 0;

    [[nodiscard]] bool is_done() const { return state == State::Done; }
    [[nodiscard]] bool has_failed() const { return state == State::Failed; }
};

struct HostDriver {
    bool is_known = false; ///< gpuhostd has reported the driver
    bool has_gpus = false;
    std::string running; ///< version; empty: none
    /// An operation that may change the running driver is in progress. Until its end the driver counts
    /// neither as ready nor as broken.
    bool changing = false;
    bool ready = false;    ///< the driver runs and is complete
    std::string problem;   ///< why the driver is not ready
    std::string pinned;    ///< the version that gpuhostd.conf pins; empty: none
    std::string requested; ///< the version that an administrator of the host requested; empty: none
    bool reboot_required = false;
    bool swaps = false; ///< a swap is in progress, even if the Node's state does not require one
    std::string boot;   ///< ID of this boot
};

struct UpgradeInput {
    UpgradeNode node;
    Labels labels;
    std::string pool;
    const UpgradePolicy* policy = nullptr; ///< null: not known yet
    std::string policy_problem;            ///< while set, no upgrade begins
    /// Why hosts of this pool wait, as the leader published it; empty: not known.
    std::string waits;
    HostDriver driver;
    bool granted = false; ///< the host has a grant and has renewed it in time
    bool revoked = false; ///< it is known that the host has no grant
    Task check;           ///< whether `policy->version` can be swapped to
    Task jobs;            ///< the wait for the pods that UpgradePolicy::wait_for selects
    Task pods;            ///< the deletion in state pod-deletion-required, otherwise the drain
    Task swap;
    Task validators;      ///< validation by pods of other components on this host
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
    UpgradeState state = UpgradeState::Unknown; ///< written on the Node, together with `record`
    UpgradeRecord record;
    std::string reason;             ///< written on the Node; empty: no reason
    std::optional<bool> cordon;     ///< new value of spec.unschedulable
    bool was_unschedulable = false; ///< the Node should have the annotation key::was_unschedulable
    std::optional<std::int64_t> wait_began;
    std::optional<std::int64_t> validation_began;
    std::map<std::string, std::string> labels; ///< changed labels to write
    UpgradeAct act = UpgradeAct::None;         ///< what the host does after the decision is on the Node
    bool wants_grant = false;                  ///< the host uses a grant, or waits for one
    /// The version that the host installs when an administrator asks for it; empty: none.
    std::string offer;
    /// The version that the host installs, or has installed, without a request; empty: none.
    std::string scheduled;
    /// The administrator's request on this host is no longer needed: the Node has recorded it, or it is void.
    bool drops_request = false;
    std::optional<std::int64_t> due;  ///< when time alone changes the decision, in seconds since 1970
    std::vector<UpgradeEvent> events; ///< sent after the server has accepted the patch of the Node
};

[[nodiscard]] UpgradeDecision next_decision(const UpgradeInput& situation);

/// Return the labels to change, as k8s-driver-manager does. paused() keeps NVIDIA's operands off a node while
/// its driver changes. unpaused() lets them return.
[[nodiscard]] std::map<std::string, std::string> paused(const Labels& labels);
[[nodiscard]] std::map<std::string, std::string> unpaused(const Labels& labels);
/// Returns true if paused() keeps away pods that select nodes by `label`.
[[nodiscard]] bool is_paused_by(std::string_view label);

} // namespace gpuhost::cluster
