// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade_node.hpp"

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

bool is_ready(const Json& node) {
    const Json& conditions = member(member(node, "status"), "conditions");
    if (!conditions.is_array())
        return true;
    return std::none_of(conditions.begin(), conditions.end(), [](const Json& condition) {
        return string_or(condition, "type", "") == "Ready" && string_or(condition, "status", "") != "True";
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
    made.reason = string_or(annotations, key::reason, "");
    made.requested = string_or(annotations, key::requested, "") == "true";
    made.was_unschedulable = annotations.is_object() && annotations.contains(key::was_unschedulable);
    made.skip = string_or(labels, key::skip, "") == "true";
    made.ready = is_ready(node);
    made.unschedulable = base::bool_or(member(node, "spec"), "unschedulable", false);
    // Without a record of ours it is as where the GPU Operator began: who has cordoned it says its annotation.
    if (made.record.state == UpgradeState::Unknown && is_under_way(made.state) && made.unschedulable)
        made.record.cordoned = !made.was_unschedulable;
    return made;
}

} // namespace gpuhost::cluster
