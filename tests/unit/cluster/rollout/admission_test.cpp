// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/admission.hpp"

#include <cstdlib>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

constexpr const char* wanted = "550.163.01";
constexpr const char* before = "535.216.01";
constexpr std::int64_t now = 1'800'000'000;

Policy policy_of(unsigned parallel, CountOrShare unavailable) {
    Policy policy;
    UpgradePolicy upgrade;
    upgrade.version = wanted;
    upgrade.mode = UpgradeMode::Controlled;
    upgrade.max_parallel = parallel;
    upgrade.max_unavailable = unavailable;
    upgrade.failure_budget = {100, true};
    policy.pools.push_back({"default", Selector(), upgrade});
    policy.silence = Seconds(600);
    return policy;
}

UpgradeNode node(const std::string& name, UpgradeState state) {
    UpgradeNode made;
    made.name = name;
    made.uid = "uid-" + name;
    made.state = state;
    made.record.state = state;
    made.record.version = state == UpgradeState::UpgradeDone ? before : wanted;
    made.record.prepared = true;
    return made;
}

Gate gate(const std::string& name) {
    return parse_gate({{"name", name}, {"url", "http://prometheus"}, {"alerts", {".*"}}}).value();
}

struct Site {
    explicit Site(Policy made) : policy(std::move(made)) {}

    Policy policy;
    Fleet fleet;
    GateStates gates;
    std::int64_t time = now;

    UpgradeNode& add(UpgradeNode one, const Labels& labels = {}) {
        const std::string name = one.name;
        fleet.hosts[name] = place(std::move(one), labels, policy);
        return fleet.hosts[name].node;
    }
    void add(unsigned count, UpgradeState state) {
        for (unsigned i = 0; i < count; ++i)
            add(node("n" + std::to_string(100 + fleet.hosts.size()), state));
    }
    void grant(const std::string& name, Seconds silent = Seconds(0)) {
        fleet.grants[name] = {name, "uid-" + name, silent, Seconds(300)};
    }
    [[nodiscard]] Admission run() const { return admit(fleet, policy, gates, time); }
};

using Names = std::vector<std::string>;

TEST(Admission, AdmitsAtMostMaxParallelUpgrades) {
    Site site{policy_of(2, {100, true})};
    site.add(5, UpgradeState::UpgradeRequired);
    EXPECT_EQ(site.run().admit, (Names{"n100", "n101"}));
    site.grant("n103");
    const Admission one = site.run();
    EXPECT_EQ(one.admit, Names{"n100"});
    EXPECT_EQ(one.waiting.at("n104"), "all places are taken: maxParallelUpgrades is 2");
    EXPECT_EQ(one.pools[0].in_progress, 2U);
    EXPECT_EQ(one.pools[0].pending, 3U);
    site.policy.pools[0].policy.max_parallel = 0;
    EXPECT_EQ(site.run().admit.size(), 4U) << "0 means no limit";
}

TEST(Admission, HostsOfflineBeforeAreNotCounted) {
    Site site{policy_of(0, {25, true})};
    site.add(100, UpgradeState::UpgradeRequired);
    for (unsigned i = 0; i < 30; ++i)
        site.fleet.hosts["n" + std::to_string(100 + i)].node.ready = false;
    Admission admission = site.run();
    EXPECT_EQ(admission.admit.size(), 18U) << "25 % of the 70 that are candidates, rounded up";
    EXPECT_EQ(admission.admit.front(), "n130");
    EXPECT_EQ(admission.waiting.at("n100"), "the node is not ready");
    EXPECT_EQ(admission.waiting.at("n199"), "as many hosts are unavailable as maxUnavailable 25 % allows");

    site.policy.pools[0].policy.count_all_unavailable = true;
    admission = site.run();
    EXPECT_TRUE(admission.admit.empty()) << "counted as the GPU Operator does: 30 of 100 are more than 25";
    EXPECT_EQ(admission.waiting.at("n199"), "as many hosts are unavailable as maxUnavailable 25 % allows");
}

TEST(Admission, CordonedHostsCountAgainstMaxParallel) {
    Site site{policy_of(1, {1, false})};
    site.add(2, UpgradeState::UpgradeRequired);
    for (auto& [name, host] : site.fleet.hosts)
        host.node.unschedulable = true;
    EXPECT_EQ(site.run().admit, Names{"n100"}) << "it makes nothing less available, and uses a slot";
}

TEST(Admission, SkippedAndUnpreparedHostsHaveAReason) {
    Site site{policy_of(0, {100, true})};
    site.add(node("skipped", UpgradeState::UpgradeRequired)).skip = true;
    UpgradeNode& unprepared = site.add(node("unprepared", UpgradeState::UpgradeRequired));
    unprepared.record.prepared = false;
    unprepared.reason = "no bundle here has it";
    const Admission admission = site.run();
    EXPECT_TRUE(admission.admit.empty());
    EXPECT_EQ(admission.waiting.at("skipped"), "label nvidia.com/gpu-driver-upgrade.skip is set");
    EXPECT_EQ(admission.waiting.at("unprepared"), "no bundle here has it");
}

TEST(Admission, FailedHostsUseNoSlotButHaltRollouts) {
    Site site{policy_of(1, {100, true})};
    site.policy.pools[0].policy.failure_budget = {1, false};
    site.add(3, UpgradeState::UpgradeRequired);
    site.add(node("x1", UpgradeState::UpgradeFailed));
    EXPECT_EQ(site.run().admit, Names{"n100"});
    site.add(node("x2", UpgradeState::UpgradeFailed));
    const Admission halted = site.run();
    EXPECT_TRUE(halted.admit.empty());
    EXPECT_EQ(halted.reasons[0].substr(0, 7), "halted:");
    site.fleet.hosts["x2"].node.record.version = before;
    EXPECT_EQ(site.run().admit.size(), 1U) << "failures of another version do not count";
}

TEST(Admission, GrantOfARecreatedNodeIsRevoked) {
    Site site{policy_of(1, {100, true})};
    site.add(2, UpgradeState::UpgradeRequired);
    site.fleet.grants["n101"] = {"n101", "uid-of-before", Seconds(0), Seconds(300)};
    EXPECT_EQ(site.run().revoke, Names{"n101"});
    EXPECT_TRUE(site.run().admit.empty()) << "the grant counts until it is deleted: its host may renew it";
    site.fleet.grants.clear();
    EXPECT_EQ(site.run().admit, Names{"n100"});
}

TEST(Admission, GrantOfUnknownNodeCountsInEachPool) {
    Site site{policy_of(2, {100, true})};
    site.policy.pools.insert(site.policy.pools.begin(), site.policy.pools[0]);
    site.policy.pools[0].selector = Selector::parse("tier=lab").value();
    for (const char* name : {"l1", "l2"})
        site.add(node(name, UpgradeState::UpgradeRequired), {{"tier", "lab"}});
    site.add(2, UpgradeState::UpgradeRequired);
    site.grant("unknown", Seconds(599));
    EXPECT_EQ(site.run().admit, (Names{"l1", "n102"})) << "its node may be in any pool";
    EXPECT_TRUE(site.run().revoke.empty()) << "the node may only have lost its label";
    site.policy.max_parallel = 2;
    EXPECT_EQ(site.run().admit, Names{"l1"});
    site.grant("unknown", Seconds(600));
    EXPECT_EQ(site.run().revoke, Names{"unknown"});
}

TEST(Admission, UnusedGrantIsRevokedAfterAMinute) {
    Site site{policy_of(1, {100, true})};
    site.add(2, UpgradeState::UpgradeRequired);
    site.grant("n100", Seconds(59));
    site.fleet.grants["n100"].taken = false;
    EXPECT_TRUE(site.run().revoke.empty());
    site.fleet.grants["n100"].silent = Seconds(60);
    EXPECT_EQ(site.run().revoke, Names{"n100"});
    site.policy.silence = Seconds(0);
    EXPECT_EQ(site.run().revoke, Names{"n100"}) << "the upgrade was not started, so the host is not lost";
    site.fleet.grants["n100"].taken = true;
    EXPECT_TRUE(site.run().revoke.empty());
}

TEST(Admission, HostWithAnUnusedGrantIsAdmittedLast) {
    Site site{policy_of(1, {100, true})};
    site.add(3, UpgradeState::UpgradeRequired);
    site.fleet.unused["n100"] = {2, Seconds(0)};
    site.fleet.unused["n101"] = {1, Seconds(0)};
    EXPECT_EQ(site.run().admit, Names{"n102"});
    site.fleet.hosts["n102"].node.skip = true;
    EXPECT_EQ(site.run().admit, Names{"n101"});
    site.fleet.unused["n101"].wait = Seconds(1);
    EXPECT_EQ(site.run().admit, Names{"n100"});
    EXPECT_EQ(site.run().waiting.at("n101"),
              "the host did not use its last grant: is gpuhost-cluster running there?");
    site.fleet.unused["n100"].wait = Seconds(1);
    EXPECT_TRUE(site.run().admit.empty());
}

TEST(Admission, WaveWaitsUntilThreeGrantsAreUnused) {
    for (const CountOrShare size : {CountOrShare{0, false}, CountOrShare{1, false}}) {
        Site site{policy_of(0, {100, true})};
        site.policy.pools[0].policy.waves.push_back(
            {"canary", Selector::parse("tier=canary").value(), size, Seconds(3600)});
        site.add(node("c", UpgradeState::UpgradeRequired), {{"tier", "canary"}});
        site.add(3, UpgradeState::UpgradeRequired);
        for (const unsigned times : {1U, 2U}) {
            site.fleet.unused["c"] = {times, Seconds(60)};
            EXPECT_TRUE(site.run().admit.empty()) << times;
        }
        site.fleet.unused["c"] = {3, Seconds(60)};
        EXPECT_EQ(site.run().admit.size(), 3U);
    }
}

TEST(Admission, OfflineCanaryIsReplaced) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.waves.push_back({"canary", Selector(), {1, false}, Seconds(3600)});
    site.add(3, UpgradeState::UpgradeRequired);
    site.fleet.unused["n100"] = {3, Seconds(60)};
    EXPECT_EQ(site.run().admit, Names{"n101"});
}

TEST(Admission, HostWithoutGpuLabelIsNotACandidate) {
    Site site{policy_of(0, {1, false})};
    site.add(3, UpgradeState::UpgradeRequired);
    site.fleet.hosts["n100"].node.gpu_label = false;
    EXPECT_EQ(site.run().admit, Names{"n101"});
    EXPECT_EQ(site.run().waiting.at("n100"), "label nvidia.com/gpu.present is not 'true'");
    UpgradeNode& done = site.fleet.hosts["n100"].node;
    done.state = done.record.state = UpgradeState::UpgradeDone;
    done.record.version = wanted;
    done.ready = false;
    EXPECT_TRUE(site.run().admit.empty()) << "a broken host counts with or without the label";
}

/// Returns 12 hosts. Four have the version, and two of these are broken.
Site site_with_broken_hosts() {
    Site site{policy_of(0, {25, true})};
    site.add(8, UpgradeState::UpgradeRequired);
    for (const char* name : {"d1", "d2", "d3", "d4"})
        site.add(node(name, UpgradeState::UpgradeDone)).record.version = wanted;
    site.fleet.hosts["d1"].node.ready = false;
    site.fleet.hosts["d2"].node.driver_ready = false;
    return site;
}

TEST(Admission, HostsBrokenAfterUpgradeAreUnavailable) {
    Site site = site_with_broken_hosts();
    EXPECT_EQ(site.run().admit.size(), 1U) << "three of twelve are 25 %";
    const auto host = [&](const char* name) -> UpgradeNode& { return site.fleet.hosts[name].node; };
    host("d3").unschedulable = true;
    EXPECT_TRUE(site.run().admit.empty());
    host("d3").record.away = true;
    EXPECT_EQ(site.run().admit.size(), 1U) << "the host was cordoned before";
    host("d3").record.away = false;
    host("d3").leaving = true;
    EXPECT_EQ(site.run().admit.size(), 1U) << "an autoscaler cordoned the host";
    host("d3").leaving = false;
    host("d3").skip = true;
    EXPECT_EQ(site.run().admit.size(), 1U) << "an administrator acknowledged it";
    host("d3").skip = false;
    host("d3").record.version = before;
    EXPECT_EQ(site.run().admit.size(), 1U) << "another version broke it";
    site.policy.pools[0].policy.count_all_unavailable = true;
    EXPECT_TRUE(site.run().admit.empty());
}

TEST(Admission, FailedHostThatIsNotReadyIsUnavailable) {
    Site site = site_with_broken_hosts();
    UpgradeNode& failed = site.fleet.hosts["d3"].node;
    failed.state = UpgradeState::UpgradeFailed;
    EXPECT_EQ(site.run().admit.size(), 1U);
    failed.ready = false;
    EXPECT_TRUE(site.run().admit.empty());
}

TEST(Admission, BrokenCanaryBlocksItsWaveUnlessSkipped) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.waves.push_back({"canary", Selector(), {1, false}, Seconds(3600)});
    site.add(3, UpgradeState::UpgradeRequired);
    UpgradeNode& canary = site.fleet.hosts["n100"].node;
    canary.state = UpgradeState::UpgradeDone;
    canary.record.since = now - 3600;
    EXPECT_EQ(site.run().admit.size(), 2U) << "the canary's soak is over";
    canary.ready = false;
    EXPECT_EQ(site.run().waiting.at("n101"),
              "wave 'canary' runs first, and is not done: node 'n100' is not ready");
    canary.ready = true;
    canary.unschedulable = true;
    EXPECT_EQ(site.run().waiting.at("n101"),
              "wave 'canary' runs first, and is not done: node 'n100' is cordoned");
    canary.unschedulable = false;
    canary.driver_ready = false;
    EXPECT_EQ(site.run().waiting.at("n101"),
              "wave 'canary' runs first, and is not done: node 'n100' has no working driver");
    canary.skip = true;
    EXPECT_EQ(site.run().admit, Names{"n101"}) << "another host becomes the canary";
}

TEST(Admission, NodesWithoutGpuhostAreNotCounted) {
    Site site{policy_of(0, {50, true})};
    site.policy.pools[0].policy.waves.push_back({"canary", Selector::parse("tier=canary").value(), {}, {}});
    site.add(node("other", UpgradeState::Unknown), {{"tier", "canary"}}).managed = false;
    site.add(4, UpgradeState::UpgradeRequired);
    const Admission admission = site.run();
    EXPECT_EQ(admission.admit.size(), 2U) << "50 % of four; the other node's wave delays no host";
    EXPECT_EQ(admission.pools[0].hosts, 4U);
}

TEST(Admission, NodeBeingRemovedIsNotACandidate) {
    Site site{policy_of(0, {50, true})};
    site.add(4, UpgradeState::UpgradeRequired);
    site.fleet.hosts["n100"].node.leaving = true;
    const Admission admission = site.run();
    EXPECT_EQ(admission.admit, (Names{"n101", "n102"})) << "50 % of three, rounded up";
    EXPECT_EQ(admission.waiting.at("n100"), "the node is being removed");
}

TEST(Admission, SharedReasonNamesNoHostOrRack) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.topology_key = "rack";
    site.add(node("a", UpgradeState::UpgradeRequired), {{"rack", "r1"}});
    site.add(node("b", UpgradeState::UpgradeRequired), {{"rack", "r2"}});
    EXPECT_EQ(site.run().reasons[0], "one rack at a time");
    Site waves{policy_of(0, {100, true})};
    waves.policy.pools[0].policy.waves.push_back({"canary", Selector(), {1, false}, Seconds(0)});
    waves.add(2, UpgradeState::UpgradeRequired);
    EXPECT_EQ(waves.run().reasons[0], "wave 'canary' runs first, and is not done");
}

TEST(Admission, UpgradingHostWithoutAGrantKeepsItsSlot) {
    Site site{policy_of(1, {100, true})};
    site.add(node("deleted-lease", UpgradeState::PodRestartRequired));
    site.add(1, UpgradeState::UpgradeRequired);
    EXPECT_TRUE(site.run().admit.empty()) << "its Lease was deleted during the swap of its driver";
    EXPECT_EQ(site.run().pools[0].in_progress, 1U);
    UpgradeNode& there = site.fleet.hosts["deleted-lease"].node;
    there.record.state = UpgradeState::Unknown;
    EXPECT_EQ(site.run().admit, Names{"n101"}) << "a label that its host did not write is ignored";
    there.record.state = there.state;
    site.policy.release_silent = true;
    EXPECT_EQ(site.run().admit, Names{"n101"}) << "its slot was released";
}

TEST(Admission, GrantIsRevokedOnlyAfterItsDurationEnds) {
    Site site{policy_of(1, {100, true})};
    site.add(2, UpgradeState::UpgradeRequired);
    site.policy.silence = Seconds(10); // since the grant was made, for 300 s
    site.grant("n100", Seconds(599));
    EXPECT_TRUE(site.run().revoke.empty());
    site.grant("n100", Seconds(600));
    EXPECT_EQ(site.run().revoke, Names{"n100"});
}

TEST(Admission, SilentHostKeepsItsSlotUnlessPolicyReleases) {
    Site site{policy_of(1, {100, true})};
    site.add(node("silent", UpgradeState::PodRestartRequired));
    site.grant("silent", Seconds(700));
    site.add(1, UpgradeState::UpgradeRequired);
    EXPECT_TRUE(site.run().admit.empty());
    EXPECT_TRUE(site.run().revoke.empty());
    site.policy.release_silent = true;
    EXPECT_EQ(site.run().revoke, Names{"silent"});
    EXPECT_TRUE(site.run().admit.empty()) << "not before the grant is deleted";
    site.fleet.grants.clear();
    EXPECT_EQ(site.run().admit, Names{"n101"});
    site.policy.release_silent = false;
    site.grant("silent", Seconds(700));
    site.fleet.hosts["silent"].node.state = UpgradeState::UpgradeRequired;
    EXPECT_EQ(site.run().revoke, Names{"silent"}) << "the upgrade was not started";
}

TEST(Admission, PoolsHaveTheirOwnLimitsUnderOneCap) {
    Site site{policy_of(5, {100, true})};
    Pool lab = site.policy.pools[0];
    lab.name = "lab";
    lab.selector = Selector::parse("tier=lab").value();
    lab.policy.max_parallel = 2;
    site.policy.pools.insert(site.policy.pools.begin(), lab);
    site.policy.max_parallel = 4;
    for (const char* name : {"l1", "l2", "l3"})
        site.add(node(name, UpgradeState::UpgradeRequired), {{"tier", "lab"}});
    site.add(5, UpgradeState::UpgradeRequired);
    EXPECT_EQ(site.run().admit, (Names{"l1", "l2", "n103", "n104"}));
    EXPECT_EQ(site.run().reasons[1], "all places are taken: rollout.maxParallelUpgrades");
}

TEST(Admission, WaveStartsAfterThePreviousOneSoaked) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.waves.push_back({"canary", Selector(), {1, false}, Seconds(3600)});
    site.add(3, UpgradeState::UpgradeRequired);
    Admission admission = site.run();
    EXPECT_EQ(admission.admit, Names{"n100"});
    EXPECT_EQ(admission.waiting.at("n101"), "wave 'canary' runs first, and is not done: node 'n100'");
    UpgradeNode& canary = site.fleet.hosts["n100"].node;
    canary.state = UpgradeState::UpgradeFailed;
    EXPECT_TRUE(site.run().admit.empty()) << "a failed canary halts the wave";
    canary.ready = false;
    EXPECT_TRUE(site.run().admit.empty()) << "a failed canary whose node is not ready halts it too";
    canary.ready = true;
    canary.state = UpgradeState::UpgradeDone;
    canary.record.since = now - 600;
    admission = site.run();
    EXPECT_TRUE(admission.admit.empty());
    EXPECT_EQ(admission.again, now + 3000);
    site.time = now + 3000;
    EXPECT_EQ(site.run().admit.size(), 2U);
}

TEST(Admission, OfflineHostIsNotACanary) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.waves.push_back({"canary", Selector(), {1, false}, Seconds(3600)});
    site.add(4, UpgradeState::UpgradeRequired);
    const auto host = [&](const char* name) -> UpgradeNode& { return site.fleet.hosts[name].node; };
    host("n100").ready = false;
    host("n101").skip = true;
    host("n102").record.prepared = false;
    EXPECT_EQ(site.run().admit, Names{"n103"}) << "an unprepared host is not a canary either";
    host("n102").record.prepared = true;
    EXPECT_EQ(site.run().admit, Names{"n102"});
    host("n102").state = UpgradeState::UpgradeDone;
    host("n102").record.since = now - 3600;
    EXPECT_EQ(site.run().admit, Names{"n103"}) << "the canary's soak is over";
    host("n100").ready = true;
    host("n100").state = UpgradeState::UpgradeDone;
    host("n100").record.since = now;
    EXPECT_EQ(site.run().admit, Names{"n103"})
        << "a host that is upgraded later is not in the canary's wave, even if first by name";
    host("n102").state = UpgradeState::UpgradeFailed;
    host("n100").state = UpgradeState::UpgradeRequired;
    EXPECT_TRUE(site.run().admit.empty()) << "a failed canary blocks the others";
    host("n103").state = UpgradeState::UpgradeDone;
    host("n103").record.since = now;
    EXPECT_TRUE(site.run().admit.empty()) << "also if another host was upgraded meanwhile";
    host("n102").skip = true;
    host("n103").state = UpgradeState::UpgradeRequired;
    EXPECT_EQ(site.run().admit, Names{"n100"}) << "if the canary is skipped, another host replaces it";
}

TEST(Admission, AdmitsHostsOfOneTopologyAtATime) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.topology_key = "rack";
    for (const auto& [name, rack] : {std::pair("a", "r1"), std::pair("b", "r2"), std::pair("c", "r1")})
        site.add(node(name, UpgradeState::UpgradeRequired), {{"rack", rack}});
    EXPECT_EQ(site.run().admit, (Names{"a", "c"}));
    EXPECT_EQ(site.run().waiting.at("b"), "one rack at a time: hosts of r1 upgrade now");
}

TEST(Admission, AdmitsNothingOutsideWindowsOrWithPolicyProblems) {
    Site site{policy_of(0, {100, true})};
    site.add(1, UpgradeState::UpgradeRequired);
    site.policy.problems.push_back({"driver.version must be a version"});
    EXPECT_EQ(site.run().waiting.at("n100"), "the policy has a problem: driver.version must be a version");
    site.policy.problems.clear();
    site.policy.pools[0].policy.windows.push_back(
        parse_window({{"days", {"Sat"}}, {"start", "22:00"}, {"end", "23:00"}}).value());
    EXPECT_TRUE(site.run().admit.empty()); // a Friday
    EXPECT_TRUE(site.run().again);
}

TEST(Admission, AdmitsNothingWhileAGateIsClosed) {
    Site site{policy_of(2, {100, true})};
    site.add(3, UpgradeState::UpgradeRequired);
    const Gate alerts = gate("alerts");
    const Gate slow = gate("slow");
    site.policy.pools[0].policy.gates = {alerts, slow};
    site.gates = {{alerts, "gate 'alerts': alert 'NodeDown' is firing"}, {slow, ""}};
    Admission admission = site.run();
    EXPECT_TRUE(admission.admit.empty());
    EXPECT_EQ(admission.waiting.at("n102"), "gate 'alerts': alert 'NodeDown' is firing");
    EXPECT_EQ(admission.reasons[0], "gate 'alerts': alert 'NodeDown' is firing");
    EXPECT_EQ(admission.asks, std::set<Gate>{alerts}) << "the open gate was queried";
    EXPECT_EQ(admission.pools[0].available, 0U);
    EXPECT_EQ(admission.pools[0].pending, 3U);
    site.gates[alerts] = "";
    admission = site.run();
    EXPECT_EQ(admission.admit, (Names{"n100", "n101"}));
    EXPECT_TRUE(admission.asks.empty());
}

TEST(Admission, UnknownGateIsQueriedBeforeAdmission) {
    Site site{policy_of(2, {100, true})};
    site.add(3, UpgradeState::UpgradeRequired);
    site.policy.pools[0].policy.gates = {gate("alerts")};
    const Admission admission = site.run();
    EXPECT_TRUE(admission.admit.empty());
    EXPECT_EQ(admission.asks, std::set<Gate>{gate("alerts")});
    EXPECT_EQ(admission.reasons[0], "all places are taken: maxParallelUpgrades is 2")
        << "the reason of an open gate: it avoids a second write to many Nodes";
    EXPECT_EQ(admission.pools[0].in_progress, 0U);
    EXPECT_EQ(admission.pools[0].pending, 3U);
}

TEST(Admission, GateIsQueriedOnlyWhenItDecides) {
    Site site{policy_of(1, {100, true})};
    site.policy.pools[0].policy.gates = {gate("alerts")};
    EXPECT_TRUE(site.run().asks.empty()) << "no hosts";
    site.add(2, UpgradeState::UpgradeRequired);
    site.grant("n100");
    EXPECT_TRUE(site.run().asks.empty()) << "no free slot";
    site.fleet.grants.clear();
    EXPECT_FALSE(site.run().asks.empty());
    for (auto& [name, host] : site.fleet.hosts)
        host.node.record.prepared = false;
    EXPECT_TRUE(site.run().asks.empty()) << "no prepared host";
    for (auto& [name, host] : site.fleet.hosts)
        host.node.record.prepared = true;
    site.policy.pools[0].policy.windows.push_back(
        parse_window({{"days", {"Sat"}}, {"start", "22:00"}, {"end", "23:00"}}).value());
    EXPECT_TRUE(site.run().asks.empty()) << "no open window";
}

TEST(Admission, ClosedGateSparesRunningUpgradesAndOtherPools) {
    Site site{policy_of(2, {100, true})};
    Pool lab = site.policy.pools[0];
    lab.name = "lab";
    lab.selector = Selector::parse("tier=lab").value();
    site.policy.pools.insert(site.policy.pools.begin(), lab);
    site.policy.pools[1].policy.gates = {gate("alerts")};
    site.gates = {{gate("alerts"), "gate 'alerts': alert 'NodeDown' is firing"}};
    site.add(node("lab", UpgradeState::UpgradeRequired), {{"tier", "lab"}});
    site.add(node("busy", UpgradeState::PodRestartRequired));
    site.grant("busy");
    site.add(1, UpgradeState::UpgradeRequired);
    const Admission admission = site.run();
    EXPECT_EQ(admission.admit, Names{"lab"});
    EXPECT_TRUE(admission.revoke.empty());
    EXPECT_EQ(admission.pools[1].in_progress, 1U);
    EXPECT_EQ(admission.reasons, (Names{"", "gate 'alerts': alert 'NodeDown' is firing"}));
}

TEST(Admission, AvailableSlotsEqualTheOperators) {
    Site site{policy_of(4, {3, false})};
    site.add(9, UpgradeState::UpgradeDone);
    EXPECT_EQ(site.run().pools[0].available, 3U) << "with or without pending hosts";
    site.add(node("busy", UpgradeState::PodRestartRequired)).unschedulable = true;
    site.fleet.hosts["busy"].node.record.cordoned = true;
    site.grant("busy");
    EXPECT_EQ(site.run().pools[0].available, 2U);
    site.policy.pools[0].policy.max_parallel = 0;
    EXPECT_EQ(site.run().pools[0].available, 0U) << "without a limit, the number of pending hosts";
    site.policy.pools[0].policy.max_parallel = 4;
    site.policy.problems.push_back({"x"});
    EXPECT_EQ(site.run().pools[0].available, 0U) << "no host may be admitted";
}

TEST(Admission, WithoutAutoUpgradeAdmitsOnlyRequestedHosts) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.mode = UpgradeMode::OnRequest;
    site.add(2, UpgradeState::UpgradeRequired);
    site.fleet.hosts["n101"].node.record.requested = true;
    EXPECT_EQ(site.run().admit, Names{"n101"});
    EXPECT_EQ(site.run().waiting.at("n100"), "autoUpgrade is off");
}

unsigned number_of(const char* variable, unsigned otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

/// A random fleet under a random policy: pools, racks, waves, windows, grants.
struct AnyFleet {
    explicit AnyFleet(unsigned seed) : random(seed), site(policy_of(some(4), {some(100), chance(2)})) {
        for (const char* tier : {"lab", "web"})
            if (chance(2))
                add_pool(tier);
        site.policy.pools.back().policy = upgrade(site.policy.pools.back().policy);
        site.policy.max_parallel = some(3);
        site.policy.release_silent = chance(2);
        if (chance(20))
            site.policy.problems.push_back({"a problem"});
        for (unsigned i = 0; i < 2 + some(20); ++i)
            add_host("n" + std::to_string(100 + i));
        if (chance(4))
            site.fleet.grants["gone"] = {"gone", "uid", Seconds(some(1200)), Seconds(300)};
    }

    unsigned some(unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); }
    bool chance(unsigned of) { return some(of - 1) == 0; }

    UpgradePolicy upgrade(UpgradePolicy one) {
        one.max_parallel = some(4);
        one.max_unavailable = {some(100), chance(2)};
        one.count_all_unavailable = chance(2);
        one.failure_budget = {some(5), false};
        one.mode = chance(6) ? UpgradeMode::OnRequest : UpgradeMode::Controlled;
        one.driver_enabled = !chance(20);
        if (chance(3))
            one.topology_key = "rack";
        if (chance(4))
            one.waves.push_back({"canary", Selector(), {1 + some(2), false}, Seconds(some(100))});
        if (chance(6)) {
            one.gates = {gate("g")};
            if (chance(2))
                site.gates[gate("g")] = chance(2) ? "" : "shut";
        }
        if (chance(6))
            one.windows.push_back(
                parse_window({{"start", "08:00"}, {"end", chance(2) ? "07:00" : "09:00"}}).value());
        return one;
    }
    void add_pool(const std::string& tier) {
        Pool pool{tier, Selector::parse("tier=" + tier).value(), upgrade(site.policy.pools.back().policy)};
        site.policy.pools.insert(site.policy.pools.begin(), std::move(pool));
    }
    void add_host(const std::string& name) {
        Labels labels;
        if (const unsigned tier = some(2); tier > 0)
            labels["tier"] = tier == 1 ? "lab" : "web";
        if (const unsigned rack = some(3); rack > 0)
            labels["rack"] = "r" + std::to_string(rack);
        UpgradeNode& one = site.add(node(name, static_cast<UpgradeState>(some(10))), labels);
        if (chance(3))
            one.state = one.record.state = UpgradeState::UpgradeRequired;
        one.ready = !chance(5);
        one.skip = chance(7);
        one.unschedulable = chance(4);
        one.was_unschedulable = chance(8);
        one.record.cordoned = chance(2);
        one.record.prepared = !chance(5);
        one.record.requested = chance(6);
        if (chance(8))
            one.record.state = UpgradeState::Unknown;
        if (chance(5))
            site.grant(name, Seconds(some(1200)));
        if (chance(30))
            site.fleet.grants[name] = {name, "uid-of-before", Seconds(some(1200)), Seconds(300)};
    }

    std::mt19937 random;
    Site site;
};

/// Counts hosts as gpuhost-policy(5) defines it, independently of the code.
struct Counted {
    Counted(const Site& site, const Admission& admission, std::size_t pool) {
        const UpgradePolicy& upgrade = site.policy.pools[pool].policy;
        for (const auto& [name, host] : site.fleet.hosts) {
            const UpgradeNode& one = host.node;
            const bool begins = std::count(admission.admit.begin(), admission.admit.end(), name) != 0;
            const bool is_at_it =
                !site.policy.release_silent && is_under_way(one.state) && one.record.state == one.state;
            const bool upgrades = begins || site.fleet.grants.count(name) != 0 || is_at_it;
            everywhere += upgrades ? 1U : 0U;
            if (host.pool != pool)
                continue;
            here += upgrades ? 1U : 0U;
            failed +=
                one.state == UpgradeState::UpgradeFailed && one.record.version == upgrade.version ? 1U : 0U;
            ++hosts;
            if (upgrades && !host.topology.empty())
                racks.insert(host.topology);
            const bool outside = !one.ready || one.skip || one.others_cordoned();
            const bool all = upgrade.count_all_unavailable;
            const bool has_version =
                one.record.version == upgrade.version &&
                (one.state == UpgradeState::UpgradeDone || one.state == UpgradeState::UpgradeFailed);
            const bool broken =
                has_version && !one.skip && !one.was_unschedulable && (!one.ready || one.others_cordoned());
            const bool counts = upgrades ? !one.others_cordoned() : !outside || broken;
            total += all || counts ? 1U : 0U;
            unavailable += all        ? (upgrades || one.unschedulable || !one.ready ? 1U : 0U)
                           : upgrades ? (one.others_cordoned() ? 0U : 1U)
                                      : (broken || (!outside && one.unschedulable) ? 1U : 0U);
        }
        for (const auto& [name, grant] : site.fleet.grants) {
            const unsigned unknown = site.fleet.hosts.count(name) == 0 ? 1U : 0U;
            everywhere += unknown;
            here += unknown;
            unavailable += unknown;
        }
    }
    unsigned hosts = 0;
    unsigned here = 0;       ///< hosts of the pool that upgrade
    unsigned everywhere = 0; ///< hosts of all pools that upgrade
    unsigned failed = 0;
    unsigned total = 0;
    unsigned unavailable = 0;
    std::set<std::string> racks;
};

void check_limits(const Site& site, const Admission& admission) {
    for (const std::string& name : admission.admit) {
        const FleetHost& host = site.fleet.hosts.at(name);
        const UpgradeNode& one = host.node;
        const UpgradePolicy& upgrade = site.policy.pools[host.pool].policy;
        const Counted counted(site, admission, host.pool);
        EXPECT_TRUE(one.ready && !one.skip && one.record.prepared &&
                    one.state == UpgradeState::UpgradeRequired);
        EXPECT_TRUE(site.policy.problems.empty() && upgrade.driver_enabled);
        EXPECT_TRUE(window_at(upgrade.windows, now).open);
        for (const Gate& one_of_them : upgrade.gates) {
            EXPECT_TRUE(site.gates.count(one_of_them) != 0 && site.gates.at(one_of_them).empty());
        }
        EXPECT_TRUE(upgrade.mode == UpgradeMode::Controlled || one.record.requested);
        EXPECT_EQ(site.fleet.grants.count(name), 0U);
        EXPECT_LE(counted.failed, upgrade.failure_budget.of(counted.hosts));
        if (upgrade.max_parallel != 0) {
            EXPECT_LE(counted.here, upgrade.max_parallel);
        }
        if (site.policy.max_parallel != 0) {
            EXPECT_LE(counted.everywhere, site.policy.max_parallel);
        }
        // A host that is unavailable already may be admitted even over the limit.
        const bool adds =
            !(upgrade.count_all_unavailable ? one.unschedulable : one.unschedulable || one.others_cordoned());
        if (adds) {
            EXPECT_LE(counted.unavailable, upgrade.max_unavailable.of(counted.total));
        }
    }
}

/// With any hosts and grants, the limits hold after admission, and only eligible hosts are admitted.
TEST(Admission, LimitsHoldInRandomFleets) {
    const unsigned first = number_of("SEED", 1);
    for (unsigned seed = first; seed < first + number_of("STORIES", 3000) && !HasFailure(); ++seed) {
        SCOPED_TRACE("SEED=" + std::to_string(seed));
        AnyFleet any(seed);
        check_limits(any.site, any.site.run());
    }
}

TEST(Admission, ResultIsRepeatableAndWaitingHostsHaveReasons) {
    for (unsigned seed = 1; seed < 500 && !HasFailure(); ++seed) {
        SCOPED_TRACE("SEED=" + std::to_string(seed));
        AnyFleet any(seed);
        const Admission admission = any.site.run();
        const Admission again = any.site.run();
        EXPECT_EQ(admission.admit, again.admit);
        EXPECT_EQ(admission.waiting, again.waiting);
        for (const auto& [name, host] : any.site.fleet.hosts) {
            const bool waits =
                host.node.state == UpgradeState::UpgradeRequired && any.site.fleet.grants.count(name) == 0;
            const bool is_admitted = std::count(admission.admit.begin(), admission.admit.end(), name) != 0;
            const auto why = admission.waiting.find(name);
            EXPECT_EQ(waits && !is_admitted, why != admission.waiting.end() && !why->second.empty()) << name;
        }
    }
}

/// Grants hosts one by one, as a leader with a lagging cache does. The limits hold at each step, and the
/// total is the same as at once.
TEST(Admission, SingleGrantsAdmitAsManyAsAtOnce) {
    for (unsigned seed = 1; seed < 500 && !HasFailure(); ++seed) {
        SCOPED_TRACE("SEED=" + std::to_string(seed));
        AnyFleet any(seed);
        const std::size_t at_once = any.site.run().admit.size();
        std::size_t one_by_one = 0;
        for (Admission next = any.site.run(); !next.admit.empty(); next = any.site.run()) {
            any.site.grant(next.admit.front());
            ++one_by_one;
            check_limits(any.site, any.site.run());
        }
        EXPECT_EQ(at_once, one_by_one);
    }
}

/// Failed, offline and skipped hosts do not block a host that can be upgraded.
TEST(Admission, HostsThatCannotUpgradeDelayNoOther) {
    for (unsigned seed = 1; seed < 300 && !HasFailure(); ++seed) {
        SCOPED_TRACE("SEED=" + std::to_string(seed));
        Site site{policy_of(1, {100, true})};
        std::mt19937 random(seed);
        for (unsigned i = 0; i < 10; ++i) {
            UpgradeNode& one = site.add(
                node("n" + std::to_string(100 + i),
                     random() % 2 == 0 ? UpgradeState::UpgradeFailed : UpgradeState::UpgradeRequired));
            one.ready = random() % 3 != 0;
            one.skip = random() % 4 == 0;
        }
        site.add(node("z", UpgradeState::UpgradeRequired));
        const Admission admission = site.run();
        EXPECT_EQ(admission.admit.size(), 1U);
    }
}

} // namespace
} // namespace gpuhost::cluster
