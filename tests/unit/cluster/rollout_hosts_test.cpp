// SPDX-License-Identifier: Apache-2.0
// Rollouts over hosts that are offline, break or lose labels, on a network without faults.
#include "tests/unit/cluster/rollout_story.hpp"

#include <array>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;
using std::chrono::hours;
using std::chrono::minutes;
using tests::grant_path;
using tests::node_path;
using tests::Story;
using tests::wanted;

UpgradeNode node_of(const Story& story, unsigned host) {
    const Json* const node = story.server.find(node_path(story.hosts[host]->name));
    return node == nullptr ? UpgradeNode() : upgrade_node(*node);
}

unsigned upgraded(const Story& story) {
    unsigned count = 0;
    for (const auto& host : story.hosts)
        count += host->machine.running == wanted ? 1 : 0;
    return count;
}

void label(Story& story, unsigned host, const char* name, const Json& value) {
    (void)story.server.patch(node_path(story.hosts[host]->name),
                             {{"metadata", {{"labels", {{name, value}}}}}});
}

void set_ready(Story& story, unsigned host, bool ready) {
    const Json condition = {{"type", "Ready"}, {"status", ready ? "True" : "Unknown"}};
    (void)story.server.patch(node_path(story.hosts[host]->name), {{"status", {{"conditions", {condition}}}}});
}

void set_cordoned(Story& story, unsigned host, bool cordoned) {
    (void)story.server.patch(node_path(story.hosts[host]->name),
                             {{"spec", {{"unschedulable", cordoned ? Json(true) : Json()}}}});
}

void set_driver_ready(Story& story, unsigned host, bool ready) {
    Readiness readiness;
    readiness.gpus = 1;
    readiness.conditions.push_back(
        {std::string(driver_ready), ready ? "True" : "False", "Loaded", "it is simulated"});
    story.server.enter(host);
    story.hosts[host]->process->agent.set_readiness(std::move(readiness));
}

/// Skips the first `hosts` hosts until they report that they are prepared.
void prepare(Story& story, unsigned hosts) {
    for (unsigned i = 0; i < hosts; ++i)
        label(story, i, key::skip, "true");
    story.run(Time(10'000));
    for (unsigned i = 0; i < hosts; ++i)
        ASSERT_TRUE(node_of(story, i).record.prepared) << story.text();
}

void unskip(Story& story, unsigned hosts) {
    for (unsigned i = 0; i < hosts; ++i)
        label(story, i, key::skip, nullptr);
}

TEST(RolloutHosts, UnusedGrantDelaysNoOtherHost) {
    Story story(1, {.hosts = 6});
    prepare(story, 1);
    story.kill(0);
    unskip(story, 1);
    story.run(minutes(20));
    EXPECT_EQ(upgraded(story), 5U) << story.text();
    story.start(0);
    story.run(minutes(30));
    EXPECT_TRUE(story.problems.empty() && story.is_over()) << story.text();
}

TEST(RolloutHosts, SeveralUnusedGrantsDelayNoOtherHost) {
    Story story(2, {.hosts = 6, .candidates = 1, .parallel = 2});
    prepare(story, 6);
    for (unsigned i = 1; i < 5; ++i)
        story.kill(i);
    unskip(story, 6);
    story.run(minutes(20));
    EXPECT_EQ(upgraded(story), 2U) << story.text();
    EXPECT_TRUE(story.problems.empty()) << story.text();
}

TEST(RolloutHosts, HostWithUnusedGrantsGetsFewMore) {
    Story story(1, {.hosts = 2, .candidates = 1});
    prepare(story, 2);
    story.kill(1);
    unskip(story, 2);
    story.run(minutes(5));
    unsigned grants = 0;
    story.server.hold = [&grants](const http::Request& request) {
        grants += request.method == "POST" && request.body.find(grant_prefix) != std::string::npos ? 1 : 0;
        return Time(0);
    };
    story.run(hours(2));
    EXPECT_GE(grants, 4U) << "grants are offered in case gpuhost-cluster runs again";
    EXPECT_LE(grants, 12U) << story.text();
}

TEST(RolloutHosts, HostWithoutItsDaemonGetsNoGrant) {
    Story story(1, {.hosts = 6});
    prepare(story, 1);
    story.hosts[0]->machine.is_known = false;
    story.hosts[0]->machine.heard = true;
    story.run(Time(5'000));
    EXPECT_FALSE(node_of(story, 0).record.prepared);
    EXPECT_EQ(node_of(story, 0).reason, "gpuhostd does not answer");
    unskip(story, 1);
    bool granted = false;
    for (unsigned i = 0; i < 600 && upgraded(story) < 5; ++i) {
        story.run(Time(1'000));
        granted |= story.server.find(grant_path("h0")) != nullptr;
    }
    EXPECT_EQ(upgraded(story), 5U) << story.text();
    EXPECT_FALSE(granted);
    story.hosts[0]->machine.is_known = story.hosts[0]->machine.heard = true;
    story.run(minutes(5));
    EXPECT_TRUE(story.is_over()) << story.text();
}

TEST(RolloutHosts, HostsReportThatTheLeaderCannotReadNodes) {
    Story story(1, {.hosts = 3, .candidates = 1});
    bool forbids = true;
    story.server.forbids = [&forbids](const http::Request& request) {
        return forbids && request.url.find("/api/v1/nodes?") != std::string::npos &&
               request.url.find("fieldSelector") == std::string::npos;
    };
    story.run(minutes(3));
    EXPECT_EQ(node_of(story, 2).reason, "the leader can't read nodes: the site's webhook denies it")
        << story.text();
    forbids = false;
    story.run(minutes(15));
    EXPECT_TRUE(story.is_over()) << story.text();
}

TEST(RolloutHosts, HostsReportThatNoHostLeads) {
    Story story(1, {.hosts = 2, .candidates = 0});
    story.run(Time(30'000));
    EXPECT_EQ(node_of(story, 0).reason, "waits for its turn");
    story.run(minutes(2));
    EXPECT_EQ(node_of(story, 0).reason,
              "waits for its turn, but no leader answers: set Candidate=yes in gpuhostd.conf of a host");
    label(story, 0, key::gpu_present, "false");
    story.run(minutes(1));
    EXPECT_EQ(node_of(story, 0).reason,
              "label nvidia.com/gpu.present is 'false': leaders grant this node no upgrade");
}

/// Breaks a host after its upgrade, or repairs it if `well`.
using Breaks = void (*)(Story& story, unsigned host, bool well);

constexpr std::array<std::pair<const char*, Breaks>, 3> ways{{
    {"not ready", set_ready},
    {"cordoned", [](Story& story, unsigned host, bool well) { set_cordoned(story, host, !well); }},
    {"driver not ready", set_driver_ready},
}};

/// Breaks each host three minutes after its upgrade.
void run_while_hosts_break(Story& story, Breaks breaks, Time duration) {
    std::set<unsigned> done;
    for (const Time end = story.server.now() + duration; story.server.now() < end;) {
        story.run(Time(10'000));
        for (unsigned i = 0; i < story.hosts.size(); ++i)
            if (done.count(i) == 0 && node_of(story, i).state == UpgradeState::UpgradeDone &&
                done.insert(i).second)
                story.server.after(minutes(3), [&story, breaks, i] { breaks(story, i, false); });
    }
}

TEST(RolloutHosts, HostsThatBreakAfterUpgradeHaltTheRollout) {
    for (const auto& [what, breaks] : ways) {
        SCOPED_TRACE(what);
        Story story(1, {.hosts = 12, .candidates = 1});
        UpgradePolicy& upgrade = story.policy.pools[0].policy;
        upgrade.max_unavailable = {25, true};
        upgrade.failure_budget = {10, true};
        for (auto& host : story.hosts)
            host->machine.takes = minutes(2);
        run_while_hosts_break(story, breaks, minutes(40));
        EXPECT_GE(upgraded(story), 3U) << story.text();
        EXPECT_LE(upgraded(story), 5U) << "three, and the hosts that were upgraded before these broke\n"
                                       << story.text();
        for (unsigned i = 0; i < story.hosts.size(); ++i)
            breaks(story, i, true);
        story.run(minutes(30));
        EXPECT_TRUE(story.problems.empty() && story.is_over()) << story.text();
    }
}

TEST(RolloutHosts, CanaryThatBreaksDuringSoakHaltsTheRollout) {
    for (const auto& [what, breaks] : ways) {
        SCOPED_TRACE(what);
        Story story(1, {.hosts = 12, .candidates = 1});
        UpgradePolicy& upgrade = story.policy.pools[0].policy;
        upgrade.max_unavailable = {25, true};
        upgrade.waves.push_back({"canary", Selector(), {1, false}, minutes(10)});
        run_while_hosts_break(story, breaks, minutes(30));
        EXPECT_EQ(upgraded(story), 1U) << story.text();
        for (unsigned i = 0; i < story.hosts.size(); ++i)
            breaks(story, i, true);
        story.run(minutes(30));
        EXPECT_TRUE(story.problems.empty() && story.is_over()) << story.text();
    }
}

/// Runs until host 0 swaps its driver, which takes ten minutes.
void begin_swap(Story& story) {
    story.hosts[0]->machine.takes = minutes(10);
    while (!story.hosts[0]->machine.swaps)
        story.run(Time(100));
}

TEST(RolloutHosts, HostThatLosesGpuLabelKeepsItsSlot) {
    Story story(1, {});
    begin_swap(story);
    const unsigned others = upgraded(story);
    label(story, 0, key::gpu_present, "false");
    story.run(minutes(9));
    EXPECT_TRUE(story.problems.empty()) << story.text();
    EXPECT_NE(story.server.find(grant_path("h0")), nullptr) << story.text();
    EXPECT_EQ(upgraded(story), others) << story.text();
    story.run(minutes(10));
    EXPECT_EQ(upgraded(story), 5U) << "its slot is free again\n" << story.text();
}

TEST(RolloutHosts, NewLeaderKeepsTheSlotWithoutGpuLabel) {
    Story story(1, {});
    begin_swap(story);
    const unsigned others = upgraded(story);
    label(story, 0, key::gpu_present, "false");
    story.run(Time(1'000));
    story.server.remove(std::string(leases_path) + "/" + leader_lease);
    story.server.remove(grant_path("h0"));
    story.run(minutes(8));
    EXPECT_TRUE(story.problems.empty()) << story.text();
    EXPECT_EQ(upgraded(story), others) << story.text();
    story.run(minutes(10));
    EXPECT_EQ(upgraded(story), 5U) << story.text();
}

/// "false", as the GPU Operator writes, and no label, as after node-feature-discovery.
const std::array<Json, 2> without_label{Json("false"), Json()};

TEST(RolloutHosts, SoakContinuesWithoutGpuLabels) {
    for (const Json& value : without_label) {
        SCOPED_TRACE(value.dump());
        Story story(1, {.hosts = 6, .candidates = 1});
        story.policy.pools[0].policy.waves.push_back({"canary", Selector(), {1, false}, hours(1)});
        story.run(minutes(5));
        ASSERT_EQ(upgraded(story), 1U) << story.text();
        for (unsigned i = 0; i < 6; ++i) {
            label(story, i, key::gpu_present, value);
            story.run(Time(200));
        }
        story.run(minutes(2));
        for (unsigned i = 6; i-- > 0;) {
            label(story, i, key::gpu_present, "true");
            story.run(Time(200));
        }
        story.run(minutes(30));
        EXPECT_EQ(upgraded(story), 1U) << story.text();
        story.run(hours(1));
        EXPECT_TRUE(story.problems.empty() && story.is_over()) << story.text();
    }
}

TEST(RolloutHosts, BrokenHostsCountWithoutTheGpuLabel) {
    for (const Json& value : without_label) {
        SCOPED_TRACE(value.dump());
        Story story(1, {.hosts = 8, .candidates = 1});
        story.policy.pools[0].policy.max_unavailable = {1, false};
        while (upgraded(story) == 0)
            story.run(Time(1'000));
        unsigned first = 0;
        while (story.hosts[first]->machine.running != wanted)
            ++first;
        while (node_of(story, first).state != UpgradeState::UpgradeDone)
            story.run(Time(10));
        set_ready(story, first, false);
        story.kill(first); // nothing else sets the label again
        label(story, first, key::gpu_present, value);
        story.run(minutes(30));
        EXPECT_LE(upgraded(story), 2U) << "this host, and one that got a grant before it broke\n"
                                       << story.text();
    }
}

TEST(RolloutHosts, BrieflyAbsentCanaryDelaysLaterWaves) {
    Story story(1, {.hosts = 6, .candidates = 2});
    prepare(story, 6);
    label(story, 5, "canary", "yes");
    story.policy.pools[0].policy.waves.push_back(
        {"canary", Selector::parse("canary=yes").value(), {0, false}, hours(24)});
    story.tell_policy();
    story.kill(5);
    unskip(story, 6);
    story.run(Time(90'000));
    story.start(5);
    story.run(minutes(30));
    EXPECT_EQ(story.hosts[5]->machine.running, wanted) << story.text();
    EXPECT_EQ(upgraded(story), 1U) << story.text();
}

std::string state_label(const Story& story, unsigned host) {
    const Json& node = *story.server.find(node_path(story.hosts[host]->name));
    return base::string_or(base::member(node["metadata"], "labels"), key::state, "");
}

/// Removes state labels, as the GPU Operator does with autoUpgrade off.
TEST(RolloutHosts, HostsUpgradeThoughStateLabelsAreRemoved) {
    Story story(1, {.hosts = 3, .candidates = 1});
    for (unsigned i = 0; i < 3600 && upgraded(story) < 3; ++i) {
        story.run(Time(1'000));
        for (unsigned host = 0; host < 3; ++host)
            if (!state_label(story, host).empty())
                label(story, host, key::state, nullptr);
    }
    EXPECT_EQ(upgraded(story), 3U) << story.text();
    story.run(minutes(30));
    EXPECT_TRUE(story.problems.empty() && story.is_over()) << story.text();
}

TEST(RolloutHosts, StateLabelRemovedDuringSwapIsWrittenAgain) {
    Story story(1, {});
    begin_swap(story);
    label(story, 0, key::state, nullptr);
    story.run(Time(5'000));
    EXPECT_EQ(state_label(story, 0), "pod-restart-required") << story.text();
    EXPECT_NE(story.server.find(grant_path("h0")), nullptr) << story.text();
}

TEST(RolloutHosts, NodeDeletedDuringUpgradeDelaysNoOther) {
    Story story(1, {});
    begin_swap(story);
    story.server.remove(node_path("h0"));
    story.run(minutes(8));
    EXPECT_TRUE(story.problems.empty()) << story.text();
    EXPECT_EQ(upgraded(story), 4U) << story.text();
}

} // namespace
} // namespace gpuhost::cluster
