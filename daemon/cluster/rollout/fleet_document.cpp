// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/fleet_document.hpp"

#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/node/node_change.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::cluster {

using base::Json;

namespace {

constexpr std::int64_t skew = 60; ///< seconds that the clocks of two hosts may differ
constexpr std::array<std::string_view, 5> phases{"failed", "upgrading", "waiting", "other", "done"};
constexpr std::array<std::string_view, 2> modes{"controlled", "on-request"};

FleetPhase phase_of(const UpgradeNode& node, bool granted, const UpgradePolicy& policy) {
    if (granted || is_under_way(node.state))
        return FleetPhase::Upgrading;
    switch (node.state) {
    case UpgradeState::UpgradeFailed:
        return FleetPhase::Failed;
    case UpgradeState::UpgradeRequired:
        return FleetPhase::Waiting;
    case UpgradeState::UpgradeDone:
        return node.record.version == policy.version ? FleetPhase::Done : FleetPhase::Other;
    default:
        return FleetPhase::Other;
    }
}

/// The age of the heartbeat up to which gpuhost-cluster counts as running, in seconds. It looks twice a
/// minute whether the heartbeat is due.
constexpr std::int64_t longest_beat = heartbeat + 30 + skew;

/// Returns true if gpuhost-cluster must write a state on this Node.
bool owes_word(const UpgradeNode& node, const UpgradePolicy& policy) {
    const bool wanted = policy.driver_enabled && !policy.version.empty();
    return wanted && (policy.mode != UpgradeMode::OnRequest || node.requested);
}

/// Returns why the host is in its phase: from its Node, unless its grant or `admission` gives a newer reason.
std::string reason_of(const UpgradeNode& node, FleetPhase phase, const Admission& admission,
                      const UpgradePolicy& policy, std::int64_t now) {
    if (phase == FleetPhase::Upgrading && node.state == UpgradeState::UpgradeRequired)
        return "granted, but not begun yet";
    if (const auto waits = admission.waiting.find(node.name);
        phase == FleetPhase::Waiting && waits != admission.waiting.end())
        return waits->second;
    if (phase != FleetPhase::Other || !node.reason.empty())
        return node.reason;
    if (!node.ready)
        return "the node is not ready";
    if (!owes_word(node, policy))
        return "";
    if (node.no_gpu)
        return "the host has no NVIDIA GPU";
    return now - node.heartbeat <= longest_beat
               ? "no report about version " + policy.version +
                     " yet; with Manage=no in [Cluster], none follows"
               : "no report about version " + policy.version + ": is gpuhost-cluster running there?";
}

Json node_document(const FleetHost& host, bool granted, const Admission& admission, const Policy& policy,
                   std::int64_t now) {
    const UpgradeNode& node = host.node;
    const Pool& pool = policy.pools[host.pool];
    const FleetPhase phase = phase_of(node, granted, pool.policy);
    return {{"name", node.name},
            {"pool", pool.name},
            {"phase", phase_name(phase)},
            {"state", state_name(node.state)},
            {"version", node.record.version},
            {"from", node.record.from},
            {"since", node.record.since},
            {"attempts", node.record.attempts},
            {"retry_at", node.record.retry_at},
            {"failure", node.record.failure},
            {"reason", reason_of(node, phase, admission, pool.policy, now)},
            {"ready", node.ready},
            {"skipped", node.skip},
            {"cordoned", node.unschedulable},
            {"granted", granted}};
}

/// Returns all gates of the policy as open. Only the leader queries gates, and it publishes when hosts wait
/// for a gate.
GateStates open_gates(const Policy& policy) {
    GateStates open;
    for (const Pool& pool : policy.pools)
        for (const Gate& gate : pool.policy.gates)
            open.emplace(gate, "");
    return open;
}

/// Returns the reason that the leader published for a pool. If there is none, or the leader is silent,
/// returns the computed reason.
std::string waits_of(const FleetFacts& facts, const Policy& policy, const Admission& admission,
                     std::size_t pool, std::int64_t now) {
    const std::string said = base::string_or(facts.rollout.waits, policy.pools[pool].name, "");
    return said.empty() || is_silent(facts.leader, now) ? admission.reasons[pool] : said;
}

} // namespace

std::string_view phase_name(FleetPhase phase) {
    return phases.at(static_cast<std::size_t>(phase));
}

bool is_silent(const LeaseFacts& leader, std::int64_t now) {
    const auto renewed = kube_seconds(leader.renewed);
    return !renewed || now > *renewed + leader.duration.count() + skew;
}

Json pool_document(const Pool& pool, const PoolNumbers& numbers, const std::string& waits) {
    return {{"name", pool.name},
            {"version", pool.policy.version},
            {"mode", modes.at(static_cast<std::size_t>(pool.policy.mode))},
            {"hosts", numbers.hosts},
            {"pending", numbers.pending},
            {"in_progress", numbers.in_progress},
            {"done", numbers.done},
            {"failed", numbers.failed},
            {"available", numbers.available},
            {"wait_reason", waits}};
}

Json fleet_document(const FleetFacts& facts, const Policy& policy, std::int64_t now) {
    Admission admission = admit(facts.fleet, policy, open_gates(policy), now);
    // The admission would grant these hosts an upgrade now. They are pending until a leader grants it.
    for (const std::string& name : admission.admit) {
        PoolNumbers& numbers = admission.pools[facts.fleet.hosts.at(name).pool];
        --numbers.in_progress;
        ++numbers.pending;
    }
    Json document = {{"leader", nullptr}, {"policy_problems", texts_of(policy.problems)}};
    if (!facts.leader.name.empty() && !facts.leader.holder.empty())
        document["leader"] = {{"name", facts.leader.holder},
                              {"renewed", kube_seconds(facts.leader.renewed).value_or(0)},
                              {"silent", is_silent(facts.leader, now)}};
    Json pools = Json::array();
    for (std::size_t i = 0; i < admission.pools.size(); ++i)
        pools.push_back(
            pool_document(policy.pools[i], admission.pools[i], waits_of(facts, policy, admission, i, now)));
    document["pools"] = std::move(pools);
    Json nodes = Json::array();
    for (const auto& [name, host] : facts.fleet.hosts) {
        const auto grant = facts.fleet.grants.find(name);
        const bool granted = grant != facts.fleet.grants.end() && grant->second.uid == host.node.uid;
        nodes.push_back(node_document(host, granted, admission, policy, now));
    }
    document["nodes"] = std::move(nodes);
    return document;
}

} // namespace gpuhost::cluster
