// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/fleet_watch.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::cluster {

using base::Error;
using base::Json;

namespace {

constexpr std::size_t most_text = 1024; ///< longest text stored from a Node, because there may be many Nodes

UpgradeNode cut(UpgradeNode node) {
    UpgradeRecord& record = node.record;
    for (std::string* const text :
         {&node.reason, &record.version, &record.from, &record.boot, &record.failure, &record.cause})
        if (text->size() > most_text) {
            text->resize(most_text);
            text->shrink_to_fit();
        }
    return node;
}

/// Removes the entries whose names are not among `names`.
template <typename Map>
void keep(Map& map, const std::set<std::string>& names) {
    for (auto at = map.begin(); at != map.end();)
        at = names.count(at->first) == 0 ? map.erase(at) : std::next(at);
}

} // namespace

FleetWatch::FleetWatch(Api& api, const base::Root* root, PolicySource::LogLine log_line)
    : policy_(api, root, std::move(log_line)),
      leases_(api, leases_path, "",
              {[this](Json&& lease) { on_lease(std::move(lease)); },
               [this](const std::set<std::string>& names) { retain_leases(names); },
               [this](Json&& lease) { forget_lease(object_name(lease)); },
               [this](const Error& trouble) { leases_trouble_ = trouble; }}),
      nodes_(api, "/api/v1/nodes", "",
             {[this](Json&& node) { on_node(std::move(node)); },
              [this](const std::set<std::string>& names) { retain_nodes(names); },
              [this](Json&& node) {
                  if (facts_.fleet.hosts.erase(object_name(node)) != 0)
                      changed();
              },
              [this](const Error& trouble) { nodes_trouble_ = trouble; }}) {}

std::optional<Time> FleetWatch::due() const {
    std::optional<Time> due = policy_.due();
    for (const auto& other : {leases_.due(), policy_.policy() == nullptr ? std::nullopt : nodes_.due()})
        if (other)
            due = due ? std::min(*due, *other) : *other;
    return due;
}

void FleetWatch::turn() {
    policy_.turn();
    on_policy();
    leases_.turn();
    if (policy_.policy() != nullptr)
        nodes_.turn();
}

void FleetWatch::retry() {
    policy_.retry();
    leases_.retry();
    nodes_.retry();
}

void FleetWatch::refresh() {
    policy_.refresh();
}

const Error& FleetWatch::trouble() const {
    if (!nodes_trouble_.message.empty())
        return nodes_trouble_;
    return leases_trouble_.message.empty() ? policy_.trouble() : leases_trouble_;
}

Json FleetWatch::document(std::int64_t now) const {
    return fleet_document(facts_, *policy_.policy(), now);
}

void FleetWatch::changed() {
    heard_ = now();
    ++changes_;
}

/// Reads the Nodes again after a change of the policy: their pools depend on their labels, which are not
/// stored.
void FleetWatch::on_policy() {
    if (policy_.changes() == policy_seen_)
        return;
    if (std::exchange(policy_seen_, policy_.changes()) != 0)
        nodes_.list_anew();
    nodes_listed_ = false;
    facts_.fleet.hosts.clear();
    changed();
}

/// Includes a Node with the GPU label even if gpuhost-cluster does not run on it, because gpuhost-cluster
/// should run there.
void FleetWatch::on_node(Json&& node) {
    UpgradeNode made = upgrade_node(node);
    const std::string name = made.name;
    if (made.managed || made.gpu_label)
        facts_.fleet.hosts[name] = place(cut(std::move(made)), labels_of(node), *policy_.policy());
    else if (facts_.fleet.hosts.erase(name) == 0)
        return;
    changed();
}

void FleetWatch::retain_nodes(const std::set<std::string>& names) {
    keep(facts_.fleet.hosts, names);
    nodes_listed_ = true;
    changed();
}

void FleetWatch::on_lease(Json&& lease) {
    LeaseFacts facts = lease_facts(lease);
    heard_ = now();
    if (facts.name == leader_lease) {
        // The leader renews its Lease every few seconds, so only another holder counts as a change.
        const bool news = facts.holder != facts_.leader.holder;
        facts_.leader = std::move(facts);
        changes_ += news ? 1 : 0;
        return;
    }
    if (facts.name == rollout_lease) {
        facts_.rollout = std::move(facts);
        return changed();
    }
    const std::string node = granted_node(facts.name);
    const auto grant = facts_.fleet.grants.find(node);
    if (node.empty() || (grant != facts_.fleet.grants.end() && grant->second.uid == facts.node_uid))
        return; // a renewed grant is not a change
    facts_.fleet.grants[node] = {node, facts.node_uid, Seconds(0)};
    changed();
}

void FleetWatch::forget_lease(const std::string& name) {
    if (name == leader_lease)
        facts_.leader = {};
    else if (name == rollout_lease)
        facts_.rollout = {};
    else
        facts_.fleet.grants.erase(granted_node(name));
    changed();
}

void FleetWatch::retain_leases(const std::set<std::string>& names) {
    std::set<std::string> nodes;
    for (const std::string& name : names)
        nodes.insert(granted_node(name));
    keep(facts_.fleet.grants, nodes);
    for (const char* name : {leader_lease, rollout_lease})
        if (names.count(name) == 0)
            forget_lease(name);
    leases_listed_ = true;
    changed();
}

} // namespace gpuhost::cluster
