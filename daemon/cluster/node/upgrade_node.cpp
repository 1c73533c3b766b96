// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/upgrade_node.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/node/readiness.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::cluster {

using base::Json;
using base::member;
using base::string_or;

namespace {

constexpr std::array<std::string_view, 11> names{"",
                                                 "upgrade-required",
                                                 "cordon-required",
                                                 "wait-for-jobs-required",
                                                 "pod-deletion-required",
                                                 "drain-required",
                                                 "pod-restart-required",
                                                 "validation-required",
                                                 "uncordon-required",
                                                 "upgrade-done",
                                                 "upgrade-failed"};

void read_conditions(const Json& node, UpgradeNode& made) {
    const Json& conditions = member(member(node, "status"), "conditions");
    for (const Json& condition : conditions.is_array() ? conditions : Json::array()) {
        const std::string type = string_or(condition, "type", "");
        const std::string status = string_or(condition, "status", "");
        if (type == "Ready")
            made.ready = status == "True";
        else if (type == driver_ready) {
            made.driver_ready = status != "False";
            made.no_gpu = string_or(condition, "reason", "") == no_gpu_reason;
            made.heartbeat = kube_seconds(string_or(condition, "lastHeartbeatTime", "")).value_or(0);
        }
        made.managed |= base::starts_with(type, "gpuhost.io/");
    }
}

/// Taints of a Node that is about to be removed: that of Cluster Autoscaler, and the current and the former
/// one of Karpenter.
constexpr std::array<std::string_view, 3> leaving_taints{"ToBeDeletedByClusterAutoscaler",
                                                         "karpenter.sh/disrupted", "karpenter.sh/disruption"};

bool is_leaving(const Json& node) {
    if (!string_or(member(node, "metadata"), "deletionTimestamp", "").empty())
        return true;
    const Json& taints = member(member(node, "spec"), "taints");
    return taints.is_array() && std::any_of(taints.begin(), taints.end(), [](const Json& taint) {
               const std::string key = string_or(taint, "key", "");
               return std::find(leaving_taints.begin(), leaving_taints.end(), key) != leaving_taints.end();
           });
}

void put(Json& object, const char* key, const std::string& text) {
    if (!text.empty())
        object[key] = text;
}

void put(Json& object, const char* key, std::int64_t number) {
    if (number != 0)
        object[key] = number;
}

void put(Json& object, const char* key, bool yes) {
    if (yes)
        object[key] = true;
}

unsigned small(const Json& value, const char* key) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(base::int_or(value, key, 0), 0, 1'000'000));
}

} // namespace

std::string_view state_name(UpgradeState state) {
    return names.at(static_cast<std::size_t>(state));
}

UpgradeState state_of(std::string_view name) {
    const auto* const found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? UpgradeState::Unknown : static_cast<UpgradeState>(found - names.begin());
}

bool is_under_way(UpgradeState state) {
    return state >= UpgradeState::CordonRequired && state <= UpgradeState::UncordonRequired;
}

Json to_json(const UpgradeRecord& record) {
    Json value = {{"state", state_name(record.state)}};
    put(value, "version", record.version);
    put(value, "from", record.from);
    put(value, "since", record.since);
    put(value, "attempts", static_cast<std::int64_t>(record.attempts));
    put(value, "retryAt", record.retry_at);
    put(value, "prepared", record.prepared);
    put(value, "requested", record.requested);
    put(value, "cordoned", record.cordoned);
    put(value, "drained", record.drained);
    put(value, "away", record.away);
    put(value, "boot", record.boot);
    put(value, "reboots", static_cast<std::int64_t>(record.reboots));
    put(value, "failure", record.failure);
    put(value, "cause", record.cause);
    return value;
}

UpgradeRecord record_from_json(const Json& value) {
    UpgradeRecord record;
    record.state = state_of(string_or(value, "state", ""));
    record.version = string_or(value, "version", "");
    record.from = string_or(value, "from", "");
    record.since = base::int_or(value, "since", 0);
    record.attempts = small(value, "attempts");
    record.retry_at = base::int_or(value, "retryAt", 0);
    record.prepared = base::bool_or(value, "prepared", false);
    record.requested = base::bool_or(value, "requested", false);
    record.cordoned = base::bool_or(value, "cordoned", false);
    record.drained = base::bool_or(value, "drained", false);
    record.away = base::bool_or(value, "away", false);
    record.boot = string_or(value, "boot", "");
    record.reboots = small(value, "reboots");
    record.failure = string_or(value, "failure", "");
    record.cause = string_or(value, "cause", "");
    return record;
}

Labels labels_of(const Json& object) {
    return base::string_map_or_empty(member(object, "metadata"), "labels");
}

UpgradeNode upgrade_node(const Json& node) {
    const Json& metadata = member(node, "metadata");
    const Json& labels = member(metadata, "labels");
    const Json& annotations = member(metadata, "annotations");
    UpgradeNode made;
    made.name = string_or(metadata, "name", "");
    made.uid = string_or(metadata, "uid", "");
    made.state = state_of(string_or(labels, key::state, ""));
    if (const auto record = base::parse_json(string_or(annotations, key::record, "{}"), key::record))
        made.record = record_from_json(*record);
    // Another program may have removed the label. The record then gives the state of the host.
    if (!(labels.is_object() && labels.contains(key::state)) &&
        (made.record.state == UpgradeState::UpgradeRequired || is_under_way(made.record.state)))
        made.state = made.record.state;
    made.reason = string_or(annotations, key::reason, "");
    made.requested = string_or(annotations, key::requested, "") == "true";
    made.was_unschedulable = annotations.is_object() && annotations.contains(key::was_unschedulable);
    made.skip = string_or(labels, key::skip, "") == "true";
    made.gpu_label = string_or(labels, key::gpu_present, "") == "true";
    made.managed = annotations.is_object() && annotations.contains(key::record);
    read_conditions(node, made);
    made.leaving = is_leaving(node);
    made.unschedulable = base::bool_or(member(node, "spec"), "unschedulable", false);
    // Without our record, the GPU Operator began the upgrade. Its annotation shows whether the node was
    // cordoned before.
    if (made.record.state == UpgradeState::Unknown && is_under_way(made.state) && made.unschedulable)
        made.record.cordoned = !made.was_unschedulable;
    return made;
}

} // namespace gpuhost::cluster
