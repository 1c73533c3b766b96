// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/grant.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/kube_time.hpp"

#include <algorithm>

namespace gpuhost::cluster {

using base::Json;
using base::member;
using base::string_or;

LeaseFacts lease_facts(const Json& lease) {
    constexpr std::int64_t most_duration = 86'400;
    const Json& metadata = member(lease, "metadata");
    const Json& annotations = member(metadata, "annotations");
    const Json& spec = member(lease, "spec");
    LeaseFacts facts;
    facts.name = string_or(metadata, "name", "");
    facts.uid = string_or(metadata, "uid", "");
    facts.version = string_or(metadata, "resourceVersion", "");
    facts.holder = string_or(spec, "holderIdentity", "");
    facts.renewed = string_or(spec, "renewTime", "");
    facts.taken = facts.renewed != string_or(spec, "acquireTime", "");
    facts.duration =
        Seconds(std::clamp<std::int64_t>(base::int_or(spec, "leaseDurationSeconds", 0), 0, most_duration));
    facts.transitions = base::int_or(spec, "leaseTransitions", 0);
    facts.term = string_or(annotations, key::term, "");
    facts.node_uid = string_or(annotations, key::node_uid, "");
    const std::string former = string_or(annotations, "gpuhost.io/waits", "{}"); // by a leader before 0.1.0
    if (auto waits = base::parse_json(string_or(annotations, key::wait_reasons, former), key::wait_reasons))
        facts.waits = std::move(*waits);
    return facts;
}

std::string lease_path(const std::string& name) {
    return std::string(leases_path) + "/" + base::percent_encoded(name);
}

std::string grant_name(const std::string& node) {
    return std::string(grant_prefix) + node;
}

std::string term_of(const LeaseFacts& leader) {
    return leader.uid + "." + std::to_string(leader.transitions);
}

std::string granted_node(const std::string& lease) {
    return base::starts_with(lease, grant_prefix) ? lease.substr(grant_prefix.size()) : std::string();
}

Json new_grant(const UpgradeNode& node, const std::string& version, const std::string& term, Seconds duration,
               std::uint64_t now_us) {
    const std::string time = kube_micro_time(now_us);
    return {{"apiVersion", "coordination.k8s.io/v1"},
            {"kind", "Lease"},
            {"metadata",
             {{"name", grant_name(node.name)},
              {"annotations", {{key::version, version}, {key::term, term}, {key::node_uid, node.uid}}},
              // Deleting the Node also deletes its grant.
              {"ownerReferences",
               {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.name}, {"uid", node.uid}}}}}},
            {"spec",
             {{"holderIdentity", node.name},
              {"leaseDurationSeconds", duration.count()},
              {"acquireTime", time},
              {"renewTime", time}}}};
}

Json renewal(const LeaseFacts& lease, std::uint64_t now_us) {
    return {{"metadata", {{"resourceVersion", lease.version}}},
            {"spec", {{"renewTime", kube_micro_time(now_us)}}}};
}

} // namespace gpuhost::cluster
