// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/node_change.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;

constexpr const char* now = "2026-11-23T16:00:00Z";
const NodeDesired desired{{"gpuhost.io/not-ready", "readiness.k8s.io/gpu"},
                          false,
                          {std::string(driver_ready), std::string(runtime_ready)}};

Json node() {
    return {
        {"metadata", {{"name", "a"}, {"resourceVersion", "7"}, {"labels", {{"kubernetes.io/os", "linux"}}}}},
        {"spec", Json::object()},
        {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}

Readiness ready() {
    Readiness made;
    made.gpus = 1;
    for (const std::string_view type : {driver_ready, runtime_ready, images_ready})
        made.conditions.push_back({std::string(type), "True", "Good", "it is"});
    return made;
}

Json taint(const char* key) {
    return {{"key", key}, {"effect", "NoSchedule"}};
}

/// Everything that change_node() writes.
struct Whole {
    NodePatch node;
    NodePatch status;
    Json heartbeat;
};

Whole change(const Json& node, const Readiness& readiness, const NodeDesired& wants, const std::string& at) {
    NodeChange made = change_node(node, readiness, wants, at);
    return {joined(std::move(made.node)), joined(std::move(made.status)), std::move(made.heartbeat)};
}

/// Returns the Node after the server applied the status patch.
Json with_status(Json node, const Whole& change) {
    for (const Json& condition : change.status.body["status"]["conditions"])
        node["status"]["conditions"].push_back(condition);
    return node;
}

TEST(NodeChange, SecondChangeIsEmpty) {
    const Whole first = change(node(), ready(), desired, now);
    ASSERT_EQ(first.status.body["status"]["conditions"].size(), 3U);
    EXPECT_EQ(first.status.body["status"]["conditions"][0]["lastTransitionTime"], now);
    EXPECT_EQ(first.status.body["metadata"]["resourceVersion"], "7");
    EXPECT_EQ(first.node.body["metadata"]["labels"]["nvidia.com/gpu.present"], "true");
    EXPECT_EQ(first.node.body["metadata"]["resourceVersion"], "7");
    EXPECT_FALSE(first.node.body.contains("spec"));

    Json after = with_status(node(), first);
    after["metadata"]["labels"]["nvidia.com/gpu.present"] = "true";
    const Whole second = change(after, ready(), desired, now);
    EXPECT_TRUE(second.status.body.is_null());
    EXPECT_TRUE(second.node.body.is_null());
}

TEST(NodeChange, OnlyStatusChangesUpdateTheTransitionTime) {
    const Json before = with_status(node(), change(node(), ready(), desired, now));
    Readiness readiness = ready();
    readiness.conditions[0].message = "it still is";
    readiness.conditions[1].status = "False";
    const Whole made = change(before, readiness, desired, "2026-11-23T17:00:00Z");
    const Json& conditions = made.status.body["status"]["conditions"];
    ASSERT_EQ(conditions.size(), 2U) << "the third is unchanged";
    EXPECT_EQ(conditions[0]["lastTransitionTime"], now);
    EXPECT_EQ(conditions[1]["lastTransitionTime"], "2026-11-23T17:00:00Z");
}

TEST(NodeChange, UnchangedConditionsGetAHeartbeat) {
    const Json before = with_status(node(), change(node(), ready(), desired, now));
    EXPECT_TRUE(change(before, ready(), desired, "2026-11-23T16:04:29Z").heartbeat.is_null());
    const Whole later = change(before, ready(), desired, "2026-11-23T16:04:30Z");
    EXPECT_TRUE(later.status.body.is_null());
    ASSERT_EQ(later.heartbeat["status"]["conditions"].size(), 3U);
    const Json& condition = later.heartbeat["status"]["conditions"][0];
    EXPECT_EQ(condition["lastHeartbeatTime"], "2026-11-23T16:04:30Z");
    EXPECT_EQ(condition["lastTransitionTime"], now);
    EXPECT_EQ(later.heartbeat["metadata"]["resourceVersion"], "7");
}

TEST(NodeChange, HeartbeatHasOnlyUnchangedConditions) {
    const Json before = with_status(node(), change(node(), ready(), desired, now));
    Readiness readiness = ready();
    readiness.conditions[0].status = "False";
    NodeChange later = change_node(before, readiness, desired, "2026-11-23T16:10:00Z");
    ASSERT_EQ(later.status.size(), 1U);
    EXPECT_EQ(later.status[0].body["status"]["conditions"][0]["type"], driver_ready);
    ASSERT_EQ(later.heartbeat["status"]["conditions"].size(), 2U);
    EXPECT_EQ(later.heartbeat["status"]["conditions"][0]["type"], runtime_ready);
}

TEST(NodeChange, HeartbeatFromTheFutureIsReplaced) {
    const Json before = with_status(node(), change(node(), ready(), desired, now));
    EXPECT_FALSE(change(before, ready(), desired, "2026-11-23T15:00:00Z").heartbeat.is_null());
}

TEST(NodeChange, ReadyHostLosesOnlyGpuhostsTaints) {
    Json tainted = node();
    tainted["spec"]["taints"] = {taint("node.kubernetes.io/not-ready"), taint("gpuhost.io/not-ready"),
                                 taint("readiness.k8s.io/gpu"), taint("site/x")};
    Readiness readiness = ready();
    const Whole made = change(tainted, readiness, desired, now);
    EXPECT_EQ(made.node.body["spec"]["taints"],
              Json({taint("node.kubernetes.io/not-ready"), taint("site/x")}));

    for (const std::string status : {"False", "Unknown"}) {
        readiness.conditions[1].status = status;
        EXPECT_FALSE(change(tainted, readiness, desired, now).node.body.contains("spec")) << status;
    }
    readiness = ready();
    readiness.conditions[2].status = "False"; // images, which are not configured
    EXPECT_TRUE(change(tainted, readiness, desired, now).node.body.contains("spec"));

    tainted["spec"]["taints"] = {taint("gpuhost.io/not-ready")};
    EXPECT_TRUE(change(tainted, ready(), desired, now).node.body["spec"]["taints"].is_null())
        << "the last taint: a merge patch deletes the list";
}

TEST(NodeChange, UnknownConditionKeepsItsReportedStatus) {
    Json tainted = with_status(node(), change(node(), ready(), desired, now));
    tainted["spec"]["taints"] = {taint("gpuhost.io/not-ready")};
    Readiness busy;
    busy.gpus = 1;
    EXPECT_TRUE(change(tainted, busy, desired, now).node.body.contains("spec"));
    tainted["status"]["conditions"] = Json::array();
    EXPECT_FALSE(change(tainted, busy, desired, now).node.body.contains("spec"));
}

TEST(NodeChange, TaintReturnsOnlyWithTaintWhenNotReady) {
    Readiness readiness = ready();
    readiness.conditions[0].status = "False";
    EXPECT_FALSE(change(node(), readiness, desired, now).node.body.contains("spec"));
    NodeDesired strict = desired;
    strict.taint_when_not_ready = true;
    Json before = node();
    before["spec"]["taints"] = {taint("site/x")};
    EXPECT_EQ(change(before, readiness, strict, now).node.body["spec"]["taints"],
              Json({taint("site/x"), taint("gpuhost.io/not-ready")}));
    before["spec"]["taints"] = {taint("readiness.k8s.io/gpu")};
    EXPECT_FALSE(change(before, readiness, strict, now).node.body.contains("spec"))
        << "a taint is already set";
    strict.taints.clear();
    EXPECT_FALSE(change(node(), readiness, strict, now).node.body.contains("spec"));
}

TEST(NodeChange, GpuLabelFollowsGpusUnlessSetManually) {
    Json labelled = node();
    labelled["metadata"]["labels"]["nvidia.com/gpu.present"] = "true";
    Readiness readiness = ready();
    readiness.gpus = 0;
    EXPECT_TRUE(change(labelled, readiness, desired, now)
                    .node.body["metadata"]["labels"]["nvidia.com/gpu.present"]
                    .is_null());
    readiness.gpus.reset();
    EXPECT_TRUE(change(labelled, readiness, desired, now).node.body.is_null());
    readiness.gpus = 1;
    labelled["metadata"]["labels"]["nvidia.com/gpu.present"] = "false";
    EXPECT_TRUE(change(labelled, readiness, desired, now).node.body.is_null());
    readiness.gpus = 0;
    EXPECT_TRUE(change(labelled, readiness, desired, now).node.body.is_null());
}

TEST(NodeChange, MalformedNodesAreHandled) {
    for (const char* text : {"null", "{}", "[]", R"({"metadata":7,"spec":[],"status":{"conditions":{}}})",
                             R"({"spec":{"taints":[1,null,{"key":3}]},"status":{"conditions":[1,null]}})"})
        (void)change_node(Json::parse(text), ready(), desired, now);
}

TEST(NodeChange, HealthTaintHasItsOwnEffect) {
    Json other = taint("gpuhost.io/gpu-unhealthy");
    other["effect"] = "PreferNoSchedule";
    const Json ours = taint("gpuhost.io/gpu-unhealthy");
    Json before = node();
    before["spec"]["taints"] = {other};
    Readiness readiness = ready();
    readiness.devices.emplace().tainted = true;
    EXPECT_EQ(change(before, readiness, desired, now).node.body["spec"]["taints"], Json({other, ours}));
    before["spec"]["taints"] = {other, ours};
    EXPECT_FALSE(change(before, readiness, desired, now).node.body.contains("spec"));
    readiness.devices->tainted = false;
    EXPECT_EQ(change(before, readiness, desired, now).node.body["spec"]["taints"], Json::array({other}));
}

} // namespace
} // namespace gpuhost::cluster
