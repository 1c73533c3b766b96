// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/admission.hpp"

#include <random>

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

struct Site {
    explicit Site(Policy made) : policy(std::move(made)) {}

    Policy policy;
    Fleet fleet;
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
        fleet.grants[name] = {name, "uid-" + name, silent};
    }
    [[nodiscard]] Admission run() const { return admit(fleet, policy, time); }
};

using Names = std::vector<std::string>;

TEST(Admission, TakesNoMoreThanMayUpgradeAtATime) {
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
    EXPECT_EQ(site.run().admit.size(), 4U) << "0 is no limit";
}

TEST(Admission, HostsThatWereAwayBeforeAreNeitherCandidatesNorInTheWay) {
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
    EXPECT_TRUE(admission.admit.empty()) << "as the GPU Operator counts: 30 of 100 are more than 25";
    EXPECT_EQ(admission.waiting.at("n199"), "as many hosts are unavailable as maxUnavailable 25 % allows");
}

TEST(Admission, WhoIsCordonedAlreadyHasNoWayAroundTheLimit) {
    Site site{policy_of(1, {1, false})};
    site.add(2, UpgradeState::UpgradeRequired);
    for (auto& [name, host] : site.fleet.hosts)
        host.node.unschedulable = true;
    EXPECT_EQ(site.run().admit, Names{"n100"}) << "it makes nothing less available, and takes a place";
}

TEST(Admission, SkippedUnpreparedAndDelayedHostsAreNamedWithTheReason) {
    Site site{policy_of(0, {100, true})};
    site.add(node("skipped", UpgradeState::UpgradeRequired)).skip = true;
    UpgradeNode& unprepared = site.add(node("unprepared", UpgradeState::UpgradeRequired));
    unprepared.record.prepared = false;
    unprepared.reason = "no bundle here has it";
    UpgradeNode& delayed = site.add(node("delayed", UpgradeState::UpgradeRequired));
    delayed.record.retry_at = now + 50;
    delayed.record.cause = "the kernel refused it";
    const Admission admission = site.run();
    EXPECT_TRUE(admission.admit.empty());
    EXPECT_EQ(admission.waiting.at("skipped"), "label nvidia.com/gpu-driver-upgrade.skip is set");
    EXPECT_EQ(admission.waiting.at("unprepared"), "no bundle here has it");
    EXPECT_EQ(admission.waiting.at("delayed"), "the kernel refused it");
    EXPECT_EQ(admission.again, now + 50);
}

TEST(Admission, FailedHostsTakeNoPlaceAndEndTheRolloutWhenTheyAreTooMany) {
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
    EXPECT_EQ(site.run().admit.size(), 1U) << "of another version they say nothing";
}

TEST(Admission, GrantsOfGoneAndRemadeNodesAreTakenBack) {
    Site site{policy_of(1, {100, true})};
    site.add(2, UpgradeState::UpgradeRequired);
    site.grant("gone");
    site.fleet.grants["n101"] = {"n101", "uid-of-before", Seconds(0)};
    const Admission admission = site.run();
    EXPECT_EQ(admission.revoke, (Names{"gone", "n101"}));
    EXPECT_EQ(admission.admit, Names{"n100"});
}

TEST(Admission, ASilentHostKeepsItsPlaceUnlessThePolicyGivesItOn) {
    Site site{policy_of(1, {100, true})};
    site.add(node("silent", UpgradeState::PodRestartRequired));
    site.grant("silent", Seconds(700));
    site.add(1, UpgradeState::UpgradeRequired);
    EXPECT_TRUE(site.run().admit.empty());
    EXPECT_TRUE(site.run().revoke.empty());
    site.policy.release_silent = true;
    EXPECT_EQ(site.run().revoke, Names{"silent"});
    EXPECT_EQ(site.run().admit, Names{"n101"});
    site.policy.release_silent = false;
    site.fleet.hosts["silent"].node.state = UpgradeState::UpgradeRequired;
    EXPECT_EQ(site.run().revoke, Names{"silent"}) << "it has not begun";
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

TEST(Admission, AWaveBeginsWhenTheOneBeforeIsDoneAndHasSoaked) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.waves.push_back({"canary", Selector(), {1, false}, Seconds(3600)});
    site.add(3, UpgradeState::UpgradeRequired);
    Admission admission = site.run();
    EXPECT_EQ(admission.admit, Names{"n100"});
    EXPECT_EQ(admission.waiting.at("n101"), "wave 'canary' comes first, and is not done: node 'n100'");
    UpgradeNode& canary = site.fleet.hosts["n100"].node;
    canary.state = UpgradeState::UpgradeFailed;
    EXPECT_TRUE(site.run().admit.empty()) << "a canary that died is a warning";
    canary.state = UpgradeState::UpgradeDone;
    canary.record.since = now - 600;
    admission = site.run();
    EXPECT_TRUE(admission.admit.empty());
    EXPECT_EQ(admission.again, now + 3000);
    site.time = now + 3000;
    EXPECT_EQ(site.run().admit.size(), 2U);
}

TEST(Admission, OneTopologyAtATime) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.topology_key = "rack";
    for (const auto& [name, rack] : {std::pair("a", "r1"), std::pair("b", "r2"), std::pair("c", "r1")})
        site.add(node(name, UpgradeState::UpgradeRequired), {{"rack", rack}});
    EXPECT_EQ(site.run().admit, (Names{"a", "c"}));
    EXPECT_EQ(site.run().waiting.at("b"), "one rack at a time: it is the turn of r1");
}

TEST(Admission, NothingBeginsOutsideTheWindowOrUnderAPolicyWithProblems) {
    Site site{policy_of(0, {100, true})};
    site.add(1, UpgradeState::UpgradeRequired);
    site.policy.problems.push_back("driver.version is to be a version");
    EXPECT_EQ(site.run().waiting.at("n100"), "the policy has a problem: driver.version is to be a version");
    site.policy.problems.clear();
    site.policy.pools[0].policy.windows.push_back(
        parse_window({{"days", {"Sat"}}, {"start", "22:00"}, {"end", "23:00"}}).value());
    EXPECT_TRUE(site.run().admit.empty()); // a Friday
    EXPECT_TRUE(site.run().again);
}

TEST(Admission, WithoutAutoUpgradeOnlyThoseThatWereAskedFor) {
    Site site{policy_of(0, {100, true})};
    site.policy.pools[0].policy.mode = UpgradeMode::OnRequest;
    site.add(2, UpgradeState::UpgradeRequired);
    site.fleet.hosts["n101"].node.record.requested = true;
    EXPECT_EQ(site.run().admit, Names{"n101"});
    EXPECT_EQ(site.run().waiting.at("n100"), "autoUpgrade is off");
}

/// Whatever there is of hosts and grants: the limits hold once the admitted are granted, and nobody is admitted that must not be.
TEST(Admission, KeepsItsLimitsInAnyFleet) {
    std::mt19937 random(20261123);
    const auto some = [&](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); };
    for (unsigned round = 0; round < 3000; ++round) {
        Site site{policy_of(some(4), {some(100), some(1) == 0})};
        UpgradePolicy& upgrade = site.policy.pools[0].policy;
        upgrade.count_all_unavailable = some(1) == 0;
        upgrade.failure_budget = {some(5), false};
        site.policy.max_parallel = some(3);
        site.policy.release_silent = some(1) == 0;
        for (unsigned i = 0; i < 2 + some(20); ++i) {
            UpgradeNode& one =
                site.add(node("n" + std::to_string(100 + i), static_cast<UpgradeState>(some(10))));
            one.ready = some(4) != 0;
            one.skip = some(6) == 0;
            one.unschedulable = some(3) == 0;
            one.record.cordoned = some(1) == 0;
            one.record.prepared = some(4) != 0;
            if (some(4) == 0)
                site.grant(one.name, Seconds(some(1200)));
        }
        const Admission admission = site.run();
        EXPECT_EQ(admission.admit, site.run().admit) << "the same answer to the same question";
        unsigned granted = 0;
        for (const auto& [name, grant] : site.fleet.grants)
            granted += std::count(admission.revoke.begin(), admission.revoke.end(), name) == 0 ? 1U : 0U;
        const std::size_t all = granted + admission.admit.size();
        if (!admission.admit.empty() && upgrade.max_parallel != 0) {
            EXPECT_LE(all, upgrade.max_parallel);
        }
        if (!admission.admit.empty() && site.policy.max_parallel != 0) {
            EXPECT_LE(all, site.policy.max_parallel);
        }
        unsigned total = 0;
        unsigned taken = 0;
        for (const auto& [name, host] : site.fleet.hosts) {
            const bool upgrades = (site.fleet.grants.count(name) != 0 &&
                                   std::count(admission.revoke.begin(), admission.revoke.end(), name) == 0) ||
                                  std::count(admission.admit.begin(), admission.admit.end(), name) != 0;
            const UpgradeNode& one = host.node;
            const bool outside = !one.ready || one.skip || one.others_cordoned();
            if (upgrade.count_all_unavailable) {
                ++total;
                taken += upgrades || one.unschedulable || !one.ready ? 1U : 0U;
            } else {
                total += upgrades || !outside ? 1U : 0U;
                taken +=
                    upgrades ? (one.others_cordoned() ? 0U : 1U) : (!outside && one.unschedulable ? 1U : 0U);
            }
        }
        for (const std::string& name : admission.admit) {
            const UpgradeNode& one = site.fleet.hosts[name].node;
            EXPECT_TRUE(one.ready && !one.skip && one.record.prepared &&
                        one.state == UpgradeState::UpgradeRequired);
            // What adds nothing to those that are away may go where they are too many already.
            const bool adds = !(upgrade.count_all_unavailable ? one.unschedulable
                                                              : one.others_cordoned() || one.unschedulable);
            if (adds) {
                EXPECT_LE(taken, upgrade.max_unavailable.of(total)) << "round " << round;
            }
        }
    }
}

} // namespace
} // namespace gpuhost::cluster
