// SPDX-License-Identifier: Apache-2.0
// A host's way through a driver upgrade: from what its Node says, what the policy wants and how things stand on the host,
// what to write on the Node and what to be at meanwhile. A pure function: whoever asks again, after a crash or a boot,
// goes on from there. States are the GPU Operator's.
#pragma once

#include "daemon/cluster/node/upgrade_node.hpp"
#include "daemon/cluster/policy/policy.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::cluster {

/// Long work that somebody else does, for one version.
struct Task {
    enum class State { None, Running, Done, Failed };
    State state = State::None;
    std::string text;      ///< what it does or waits for; once it has failed why
    bool is_final = false; ///< it would fail again
    /// Seconds since 1970: what it waits for could not be seen for long enough before, so until then it is not late.
    std::int64_t late_from = 0;

    [[nodiscard]] bool is_done() const { return state == State::Done; }
    [[nodiscard]] bool has_failed() const { return state == State::Failed; }
};

struct HostDriver {
    bool is_known = false; ///< the daemon has said so
    bool has_gpus = false;
    std::string running;   ///< version; empty: none
    bool changing = false; ///< an operation that may change what runs goes on: it is neither ready nor broken
    bool ready = false;    ///< it runs, and is all there
    std::string problem;   ///< why not
    std::string pinned;    ///< the version that gpuhostd.conf insists on; empty: none
    std::string requested; ///< the version that an administrator of the host has asked for; empty: none
    bool reboot_required = false;
    bool swaps = false; ///< another takes its place just now, whatever the Node says
    std::string boot;   ///< id of this boot
};

struct UpgradeSituation {
    UpgradeNode node;
    Labels labels;
    std::string pool;
    const UpgradePolicy* policy = nullptr; ///< null: not known yet
    std::string policy_problem;            ///< nothing begins while there is one
    std::string waits; ///< why hosts of this pool wait, as the leader says; empty: not known
    HostDriver driver;
    bool granted = false; ///< and it has been renewed in time
    bool revoked = false; ///< there is surely no grant
    Task check;           ///< that `policy->version` could be swapped to
    Task jobs;            ///< waiting for them
    Task pods;            ///< their deletion in pod-deletion-required, else their drain
    Task swap;
    Task validators;      ///< of others, pods on this host
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

struct UpgradeMove {
    UpgradeState state = UpgradeState::Unknown; ///< to be on the Node, with the record
    UpgradeRecord record;
    std::string reason;             ///< to be on the Node; empty: none
    std::optional<bool> cordon;     ///< to change spec.unschedulable
    bool was_unschedulable = false; ///< the annotation is to be there
    std::optional<std::int64_t> wait_began;
    std::optional<std::int64_t> validation_began;
    std::map<std::string, std::string> labels; ///< others to set
    UpgradeAct act = UpgradeAct::None;         ///< once all that is written
    bool wants_grant = false;                  ///< it would use one, or does
    std::string offer; ///< the version that the host takes once somebody asks for it; empty: none
    bool drops_request =
        false; ///< what an administrator of the host has asked for is on the Node by now, or void
    std::optional<std::int64_t> due;  ///< when time alone changes the answer
    std::vector<UpgradeEvent> events; ///< to tell once it is written
};

[[nodiscard]] UpgradeMove next_move(const UpgradeSituation& situation);

/// The labels by which NVIDIA's own operands are kept off a node while its driver changes, and brought back: as
/// k8s-driver-manager does it.
[[nodiscard]] std::map<std::string, std::string> paused(const Labels& labels);
[[nodiscard]] std::map<std::string, std::string> unpaused(const Labels& labels);
/// Pods that `label` selects a node for are kept off it by paused().
[[nodiscard]] bool is_paused_by(std::string_view label);

} // namespace gpuhost::cluster
