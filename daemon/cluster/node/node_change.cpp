// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/node_change.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/node/gpu_labels.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuhost::cluster {

using base::Json;
using base::list_of;
using base::member;
using base::string_or;

namespace {

constexpr std::string_view unhealthy_taint = "gpuhost.io/gpu-unhealthy";
constexpr const char* gpu_present = "nvidia.com/gpu.present"; ///< the GPU Operator's label

/// Returns a patch that applies only to this version of the Node.
Json patch_of(const Json& node) {
    return {{"metadata", {{"resourceVersion", string_or(member(node, "metadata"), "resourceVersion", "")}}}};
}

/// Returns the Node's conditions after `readiness` is written. A condition that is not in `readiness` keeps
/// its value.
std::vector<Condition> conditions_after(const Json& node, const Readiness& readiness) {
    std::vector<Condition> after = conditions_of(node);
    for (const Condition& condition : readiness.conditions) {
        const auto before = std::find_if(after.begin(), after.end(),
                                         [&](const Condition& c) { return c.type == condition.type; });
        if (before == after.end())
            after.push_back(condition);
        else
            *before = condition;
    }
    return after;
}

bool is_ready(const std::vector<Condition>& conditions, const NodeDesired& desired) {
    return std::all_of(desired.ready.begin(), desired.ready.end(), [&](const std::string& type) {
        return std::any_of(conditions.begin(), conditions.end(),
                           [&](const Condition& c) { return c.type == type && c.status == "True"; });
    });
}

/// Merges objects, appends arrays and replaces everything else.
void merge(Json& into, const Json& other) {
    if (into.is_object() && other.is_object())
        for (const auto& [key, value] : other.items())
            merge(into[key], value);
    else if (into.is_array() && other.is_array())
        into.insert(into.end(), other.begin(), other.end());
    else
        into = other;
}

void change_label(std::vector<NodePatch>& patches, const Json& node, bool has_gpus) {
    const Json& labels = member(member(node, "metadata"), "labels");
    const std::string before = string_or(labels, gpu_present, "");
    if (has_gpus == (before == "true") || (!has_gpus && before.empty()))
        return;
    // An administrator sets "false" to keep NVIDIA's operands off this node, so the value stays.
    if (has_gpus && !before.empty())
        return;
    NodePatch patch{
        patch_of(node),
        {has_gpus ? "label nvidia.com/gpu.present=true" : "label nvidia.com/gpu.present is removed"}};
    patch.body["metadata"]["labels"][gpu_present] = has_gpus ? Json("true") : Json();
    patches.push_back(std::move(patch));
}

/// The taints that a patch writes, as a whole list.
struct TaintChange {
    Json taints; ///< an array
    std::vector<std::string> log_lines;

    template <class Condition>
    void remove(const Condition& unwanted) {
        Json kept = Json::array();
        for (const Json& taint : taints)
            if (!unwanted(taint))
                kept.push_back(taint);
        taints = std::move(kept);
    }
    void add(std::string_view key) { taints.push_back({{"key", key}, {"effect", "NoSchedule"}}); }
};

void change_readiness_taints(TaintChange& change, const std::vector<std::string>& there, bool ready,
                             const NodeDesired& desired) {
    if (ready && !there.empty()) {
        change.remove([&](const Json& taint) { return base::contains(there, string_or(taint, "key", "")); });
        change.log_lines.push_back("the host is ready, so these taints are removed: " +
                                   base::join(there, ", "));
    } else if (!ready && desired.taint_when_not_ready && !desired.taints.empty() && there.empty()) {
        change.add(desired.taints.front());
        change.log_lines.push_back("taint " + desired.taints.front() +
                                   ":NoSchedule, since the host is not ready");
    }
}

/// A taint of this key with another effect is an administrator's.
void change_health_taint(TaintChange& change, bool wanted) {
    const std::string key(unhealthy_taint);
    const auto is_ours = [&](const Json& taint) {
        return string_or(taint, "key", "") == key && string_or(taint, "effect", "") == "NoSchedule";
    };
    const bool is_there = std::any_of(change.taints.begin(), change.taints.end(), is_ours);
    if (wanted == is_there)
        return;
    if (wanted)
        change.add(key);
    else
        change.remove(is_ours);
    change.log_lines.push_back("taint " + key + ":NoSchedule" +
                               (wanted ? ", since a GPU is unhealthy" : " is removed"));
}

void change_taints(std::vector<NodePatch>& patches, const Json& node, bool ready, const Readiness& readiness,
                   const NodeDesired& desired) {
    TaintChange change{list_of(member(node, "spec"), "taints"), {}};
    change_readiness_taints(change, taints_of(node, desired), ready, desired);
    if (readiness.devices && readiness.devices->tainted)
        change_health_taint(change, *readiness.devices->tainted);
    if (change.log_lines.empty())
        return;
    NodePatch patch{patch_of(node), std::move(change.log_lines)};
    patch.body["spec"]["taints"] = change.taints.empty() ? Json() : std::move(change.taints);
    patches.push_back(std::move(patch));
}

Json condition_json(const Condition& condition, const Json* before, const std::string& now) {
    const bool same = before != nullptr && string_or(*before, "status", "") == condition.status;
    return {{"type", condition.type},
            {"status", condition.status},
            {"reason", condition.reason},
            {"message", condition.message},
            {"lastHeartbeatTime", now},
            {"lastTransitionTime", same ? string_or(*before, "lastTransitionTime", now) : now}};
}

/// Returns true if lastHeartbeatTime must be renewed: its age is at least `heartbeat`, or it is in the
/// future. A future time was written before the clock was set back.
bool is_old(const Json& condition, const std::string& now) {
    constexpr std::int64_t clocks_differ = 60;
    const auto at = kube_seconds(string_or(condition, "lastHeartbeatTime", ""));
    const auto seconds = kube_seconds(now);
    return !at || !seconds || *seconds >= *at + heartbeat || *at > *seconds + clocks_differ;
}

Json status_of(const Json& node, Json&& conditions) {
    Json body = patch_of(node);
    body["status"]["conditions"] = std::move(conditions);
    return body;
}

std::vector<Condition> all_conditions(const Readiness& readiness) {
    std::vector<Condition> all = readiness.conditions;
    if (readiness.devices && readiness.devices->health)
        all.push_back(*readiness.devices->health);
    return all;
}

/// Adds patches for the changed conditions to `change`. One heartbeat renews all unchanged conditions in a
/// single write.
void change_conditions(NodeChange& change, const Json& node, const Readiness& readiness,
                       const std::string& now) {
    const Json& conditions = list_of(member(node, "status"), "conditions");
    const std::vector<Condition> before = conditions_of(node);
    Json unchanged = Json::array();
    bool old = false;
    for (const Condition& condition : all_conditions(readiness)) {
        const auto known = std::find_if(conditions.begin(), conditions.end(), [&](const Json& c) {
            return string_or(c, "type", "") == condition.type;
        });
        Json made = condition_json(condition, known == conditions.end() ? nullptr : &*known, now);
        if (base::contains(before, condition)) {
            old = old || is_old(*known, now);
            unchanged.push_back(std::move(made));
            continue;
        }
        change.status.push_back({status_of(node, Json::array({std::move(made)})),
                                 {condition.type + " is " + condition.status + ": " + condition.message}});
    }
    if (old)
        change.heartbeat = status_of(node, std::move(unchanged));
}

/// Removes the condition of the GPUs' health if the host no longer has one.
void remove_health(NodeChange& change, const Json& node) {
    const std::vector<Condition> before = conditions_of(node);
    const std::string type(gpus_healthy);
    if (std::none_of(before.begin(), before.end(), [&](const Condition& c) { return c.type == type; }))
        return;
    Json removal{{"type", type}, {"$patch", "delete"}};
    change.status.push_back(
        {status_of(node, Json::array({std::move(removal)})), {"condition " + type + " is removed"}});
}

} // namespace

std::vector<Condition> conditions_of(const Json& node) {
    std::vector<Condition> ours;
    for (const Json& condition : list_of(member(node, "status"), "conditions"))
        if (std::string type = string_or(condition, "type", ""); base::starts_with(type, "gpuhost.io/"))
            ours.push_back({std::move(type), string_or(condition, "status", ""),
                            string_or(condition, "reason", ""), string_or(condition, "message", "")});
    return ours;
}

std::vector<std::string> taints_of(const Json& node, const NodeDesired& desired) {
    std::vector<std::string> there;
    for (const Json& taint : list_of(member(node, "spec"), "taints"))
        if (std::string key = string_or(taint, "key", "");
            base::contains(desired.taints, key) && !base::contains(there, key))
            there.push_back(std::move(key));
    return there;
}

NodePatch joined(std::vector<NodePatch>&& patches) {
    NodePatch whole;
    for (NodePatch& patch : patches) {
        merge(whole.body, patch.body);
        std::move(patch.log_lines.begin(), patch.log_lines.end(), std::back_inserter(whole.log_lines));
    }
    return whole;
}

NodeChange change_node(const Json& node, const Readiness& readiness, const NodeDesired& desired,
                       const std::string& now) {
    NodeChange change;
    change_conditions(change, node, readiness, now);
    if (readiness.devices && !readiness.devices->health)
        remove_health(change, node);
    if (readiness.devices && readiness.devices->labels)
        change.labels = gpu_label_patches(node, *readiness.devices->labels);
    if (readiness.gpus)
        change_label(change.node, node, *readiness.gpus > 0);
    change_taints(change.node, node, is_ready(conditions_after(node, readiness), desired), readiness,
                  desired);
    return change;
}

} // namespace gpuhost::cluster
