// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/rollout/fleet_document.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;
using base::string_or;

constexpr const char* wanted = "550.163.01";
constexpr const char* before = "535.216.01";
constexpr std::int64_t now = 1'800'000'000;

Policy policy_of(unsigned parallel) {
    Policy policy;
    UpgradePolicy upgrade;
    upgrade.version = wanted;
    upgrade.mode = UpgradeMode::Controlled;
    upgrade.max_parallel = parallel;
    upgrade.max_unavailable = {100, true};
    upgrade.failure_budget = {100, true};
    policy.pools.push_back({"default", Selector(), upgrade});
    return policy;
}

struct Site {
    explicit Site(Policy made) : policy(std::move(made)) {
        facts.leader.name = leader_lease;
        facts.leader.holder = "gpu01";
        facts.leader.duration = Seconds(15);
        facts.leader.renewed = kube_micro_time(static_cast<std::uint64_t>(now - 5) * 1'000'000);
    }

    Policy policy;
    FleetFacts facts;

    UpgradeNode& add(const std::string& name, UpgradeState state, const char* version = wanted) {
        UpgradeNode node;
        node.name = name;
        node.uid = "uid-" + name;
        node.state = state;
        node.record.state = state;
        node.record.version = version;
        node.record.since = now - 60;
        node.record.prepared = true;
        facts.fleet.hosts[name] = place(std::move(node), {}, policy);
        return facts.fleet.hosts[name].node;
    }
    void grant(const std::string& name) { facts.fleet.grants[name] = {name, "uid-" + name, Seconds(0)}; }
    [[nodiscard]] Json document() const { return fleet_document(facts, policy, now); }
    [[nodiscard]] Json node(const std::string& name) const {
        const Json all = document();
        for (const Json& one : all["nodes"])
            if (one["name"] == name)
                return one;
        return {};
    }
};

TEST(FleetDocument, EachHostHasPhaseAndReason) {
    Site site(policy_of(1));
    site.add("a", UpgradeState::UpgradeDone);
    site.add("b", UpgradeState::DrainRequired).reason = "2 pods are left";
    site.grant("b");
    site.add("c", UpgradeState::UpgradeRequired).record.from = before;
    UpgradeNode& failed = site.add("d", UpgradeState::UpgradeFailed);
    failed.reason = "swap: the kernel refused the module";
    failed.record.failure = "swap";
    failed.record.attempts = 3;
    site.add("e", UpgradeState::UpgradeDone, before);
    const Json document = site.document();
    const Json& pool = document["pools"][0];
    EXPECT_EQ(pool["hosts"], 5);
    EXPECT_EQ(pool["done"], 1);
    EXPECT_EQ(pool["in_progress"], 1);
    EXPECT_EQ(pool["pending"], 1);
    EXPECT_EQ(pool["failed"], 1);
    EXPECT_EQ(pool["version"], wanted);
    EXPECT_EQ(site.node("a")["phase"], "done");
    EXPECT_EQ(site.node("b")["phase"], "upgrading");
    EXPECT_EQ(site.node("b")["reason"], "2 pods are left");
    EXPECT_EQ(site.node("b")["granted"], true);
    EXPECT_EQ(site.node("c")["phase"], "waiting");
    EXPECT_EQ(site.node("c")["reason"], "all places are taken: maxParallelUpgrades is 1");
    EXPECT_EQ(site.node("c")["from"], before);
    EXPECT_EQ(site.node("c")["since"], now - 60);
    EXPECT_EQ(site.node("d")["phase"], "failed");
    EXPECT_EQ(site.node("d")["attempts"], 3);
    EXPECT_EQ(site.node("e")["phase"], "other");
    EXPECT_EQ(site.node("e")["reason"],
              "no report about version 550.163.01: is gpuhost-cluster running there?");
}

TEST(FleetDocument, HostWithoutGpuOwesNoReport) {
    Site site(policy_of(1));
    UpgradeNode& node = site.add("a", UpgradeState::Unknown, "");
    Json condition = {{"type", "gpuhost.io/DriverReady"}, {"status", "True"}, {"reason", "NoGpu"}};
    Json document;
    document["metadata"]["name"] = "a";
    document["status"]["conditions"].push_back(condition);
    node = upgrade_node(document);
    node.heartbeat = now;
    EXPECT_EQ(site.node("a")["reason"], "the host has no NVIDIA GPU");
}

TEST(FleetDocument, ReportIsAwaitedWhileTheHeartbeatIsFresh) {
    Site site(policy_of(1));
    UpgradeNode& node = site.add("a", UpgradeState::UpgradeDone, before);
    node.heartbeat = now - 5 * 60;
    EXPECT_EQ(site.node("a")["reason"],
              "no report about version 550.163.01 yet; with Manage=no in [Cluster], none follows");
    node.heartbeat = now - 7 * 60;
    EXPECT_EQ(site.node("a")["reason"],
              "no report about version 550.163.01: is gpuhost-cluster running there?");
}

TEST(FleetDocument, NodeConditionsOverrideAnOfflineHostsReason) {
    Site site(policy_of(0));
    UpgradeNode& away = site.add("a", UpgradeState::UpgradeRequired);
    away.reason = "waits for its turn";
    away.ready = false;
    EXPECT_EQ(site.node("a")["reason"], "the node is not ready");
    EXPECT_EQ(site.node("a")["ready"], false);
    UpgradeNode& skipped = site.add("b", UpgradeState::UpgradeRequired);
    skipped.skip = true;
    EXPECT_NE(string_or(site.node("b"), "reason", "").find(key::skip), std::string::npos);
    site.add("c", UpgradeState::Unknown, "").ready = false;
    EXPECT_EQ(site.node("c")["reason"], "the node is not ready");
}

TEST(FleetDocument, GrantOfAnotherNodeUidDoesNotCount) {
    Site site(policy_of(1));
    site.add("a", UpgradeState::UpgradeRequired);
    site.facts.fleet.grants["a"] = {"a", "uid of another", Seconds(0)};
    EXPECT_EQ(site.node("a")["granted"], false);
    EXPECT_EQ(site.node("a")["phase"], "waiting");
    site.grant("a");
    EXPECT_EQ(site.node("a")["phase"], "upgrading");
    EXPECT_EQ(site.node("a")["reason"], "granted, but not begun yet");
}

TEST(FleetDocument, AdmissibleHostWaitsUntilItIsGranted) {
    Site site(policy_of(1));
    site.add("a", UpgradeState::UpgradeRequired).reason = "waits for its turn";
    const Json document = site.document();
    EXPECT_EQ(document["pools"][0]["in_progress"], 0);
    EXPECT_EQ(document["pools"][0]["pending"], 1);
    EXPECT_EQ(site.node("a")["reason"], "waits for its turn");
}

TEST(FleetDocument, PoolsReasonIsThatOfTheLeader) {
    Site site(policy_of(1));
    site.add("a", UpgradeState::UpgradeRequired);
    site.add("b", UpgradeState::DrainRequired);
    site.grant("b");
    EXPECT_EQ(site.document()["pools"][0]["wait_reason"], "all places are taken: maxParallelUpgrades is 1");
    site.facts.rollout.waits = {{"default", "said by the leader"}};
    EXPECT_EQ(site.document()["pools"][0]["wait_reason"], "said by the leader");
    site.facts.leader.renewed = kube_micro_time(static_cast<std::uint64_t>(now - 600) * 1'000'000);
    const Json document = site.document();
    EXPECT_EQ(document["pools"][0]["wait_reason"], "all places are taken: maxParallelUpgrades is 1");
    EXPECT_EQ(document["leader"]["silent"], true);
    EXPECT_EQ(document["leader"]["renewed"], now - 600);
}

TEST(FleetDocument, LeaderIsSilentAfterLeaseAndClockSkew) {
    LeaseFacts leader;
    leader.duration = Seconds(15);
    leader.renewed = kube_micro_time(static_cast<std::uint64_t>(now) * 1'000'000);
    EXPECT_FALSE(is_silent(leader, now - 1000)) << "its clock is ahead";
    EXPECT_FALSE(is_silent(leader, now + 75));
    EXPECT_TRUE(is_silent(leader, now + 76));
    leader.renewed = "yesterday";
    EXPECT_TRUE(is_silent(leader, now));
}

TEST(FleetDocument, ReportsMissingLeaderAndPolicyProblems) {
    Site site(policy_of(1));
    site.facts.leader = {};
    site.policy.problems = {{"driver.version is not a version"}};
    const Json document = site.document();
    EXPECT_TRUE(document["leader"].is_null());
    EXPECT_EQ(document["policy_problems"], Json({"driver.version is not a version"}));
}

TEST(FleetDocument, OnRequestHostsHaveNoReason) {
    Site site(policy_of(1));
    site.policy.pools[0].policy.mode = UpgradeMode::OnRequest;
    site.add("a", UpgradeState::Unknown, "");
    EXPECT_EQ(site.node("a")["phase"], "other");
    EXPECT_EQ(site.node("a")["reason"], "");
    EXPECT_EQ(site.document()["pools"][0]["mode"], "on-request");
}

TEST(KubeTime, ParsesWrittenTimesAndRefusesOthers) {
    EXPECT_EQ(kube_seconds(kube_time(1'800'000'000'000'000)), 1'800'000'000);
    EXPECT_EQ(kube_seconds(kube_micro_time(1'800'000'000'999'999)), 1'800'000'000);
    for (const char* bad : {"", "now", "2026-11-23T16:00:00+01:00", "2026-11-23"})
        EXPECT_FALSE(kube_seconds(bad)) << bad;
}

} // namespace
} // namespace gpuhost::cluster
