// SPDX-License-Identifier: Apache-2.0
// The real leaders and hosts on a simulated network with faults. Never more hosts upgrade than allowed, and
// all of them do once the faults end. Each seed is one story: STORIES= sets their number, SEED= the first
// seed.
#include "tests/unit/cluster/rollout_story.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;
using gpuhost::tests::NetworkFaults;
using gpuhost::tests::SimulatedServer;
using tests::grant_path;
using tests::node_path;
using tests::Shape;
using tests::Story;
using tests::wanted;

unsigned number_of(const char* variable, unsigned otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

/// Causes a random fault of the network or of a process.
void harm(Story& story) {
    SimulatedServer& server = story.server;
    const unsigned i = server.some(story.shape.hosts - 1);
    Story::Host& host = *story.hosts[i];
    switch (server.some(9)) {
    case 0:
        if (host.process) {
            story.log_line(host.name + " is killed");
            story.kill(i);
            server.after(Time(server.some(60'000)), [&story, i] {
                if (!story.hosts[i]->process)
                    story.start(i);
            });
        }
        break;
    case 1: {
        const Time pause(server.some(90'000));
        story.log_line(host.name + " is paused for " + std::to_string(pause.count()) + " ms");
        host.paused_until = server.now() + pause;
        break;
    }
    case 2:
    case 3: {
        const Time length(server.some(server.some(3) == 0 ? 900'000 : 60'000));
        const bool hangs = server.some(1) == 0;
        story.log_line(host.name + " is cut off for " + std::to_string(length.count()) + " ms" +
                       (hangs ? ", silently" : ""));
        server.cut(i, length, hangs);
        break;
    }
    case 4:
        story.log_line("the server forgets");
        server.forget();
        break;
    case 5:
        server.faults.slowest = Time(server.some(1) == 0 ? 20 : server.some(8'000));
        break;
    case 6:
        server.faults.late = server.some(1) * server.some(300);
        server.faults.unheard = server.some(1) * server.some(300);
        break;
    case 7:
        server.faults.failed = server.some(1) * server.some(300);
        server.faults.refused = server.some(1) * server.some(300);
        break;
    case 8:
        host.machine.fail_next = 1;
        break;
    default:
        server.set_clock(i, std::chrono::seconds(static_cast<int>(server.some(14'400)) - 7'200));
        break;
    }
}

/// Ends the term of the current leader, and delays its requests.
void unseat(Story& story) {
    SimulatedServer& server = story.server;
    server.faults.late = 300;
    // Otherwise the next leader would choose the same hosts.
    const std::string one = story.hosts[server.some(story.shape.hosts - 1)]->name;
    (void)server.patch(
        node_path(one),
        {{"metadata", {{"labels", {{key::skip, server.some(1) == 0 ? Json() : Json("true")}}}}}});
    const Json* const lease = server.find(std::string(leases_path) + "/" + leader_lease);
    const std::string leader = lease == nullptr ? "" : lease_facts(*lease).holder;
    for (unsigned i = 0; i < story.hosts.size(); ++i) {
        Story::Host& host = *story.hosts[i];
        if (host.name != leader || !host.process)
            continue;
        story.log_line("leader " + leader + " is unseated");
        switch (server.some(2)) {
        case 0:
            return server.cut(i, Time(server.some(40'000)), server.some(1) == 0);
        case 1:
            host.paused_until = server.now() + Time(server.some(40'000));
            return;
        default:
            story.kill(i);
            story.start(i);
            return;
        }
    }
}

/// Changes objects of the API as people may do.
void meddle(Story& story) {
    SimulatedServer& server = story.server;
    const unsigned i = server.some(story.shape.hosts - 1);
    Story::Host& host = *story.hosts[i];
    const std::string node = node_path(host.name);
    const auto label = [&](const char* name, const Json& value) {
        story.log_line("a person labels " + host.name + ": " + name + "=" + value.dump());
        (void)server.patch(node, {{"metadata", {{"labels", {{name, value}}}}}});
    };
    UpgradePolicy& policy = story.policy.pools[0].policy;
    switch (server.some(14)) {
    case 0:
        story.log_line("a person deletes gpuhost-leader");
        return server.remove(std::string(leases_path) + "/" + leader_lease);
    case 1:
        story.log_line("a person deletes all leases");
        for (const std::string& path : server.below(leases_path))
            server.remove(path);
        return;
    case 2:
        story.log_line("a person deletes the grant of " + host.name);
        return server.remove(grant_path(host.name));
    case 3:
    case 4:
        policy.mode =
            policy.mode == UpgradeMode::OnRequest ? UpgradeMode::Controlled : UpgradeMode::OnRequest;
        story.log_line(std::string("autoUpgrade is ") +
                       (policy.mode == UpgradeMode::OnRequest ? "off" : "on"));
        return story.tell_policy();
    case 5:
        story.log_line("driver.enabled changes");
        policy.driver_enabled = !policy.driver_enabled;
        return story.tell_policy();
    case 6:
        story.log_line("Node " + host.name + " is deleted");
        server.remove(node);
        server.after(Time(server.some(60'000)), [&story, i] {
            if (story.server.find(node_path(story.hosts[i]->name)) == nullptr)
                story.add_node(i);
        });
        return;
    case 7:
        return label(key::gpu_present, server.some(1) == 0 ? Json() : Json("true"));
    case 8:
        return label(key::skip, server.some(1) == 0 ? Json() : Json("true"));
    case 9: {
        const bool ready = server.some(1) == 0;
        (void)server.patch(
            node,
            {{"status", {{"conditions", {{{"type", "Ready"}, {"status", ready ? "True" : "Unknown"}}}}}}});
        return;
    }
    case 10:
        story.log_line("a person changes whether " + host.name + " is cordoned");
        (void)server.patch(node, {{"spec", {{"unschedulable", server.some(1) == 0 ? Json() : Json(true)}}}});
        return;
    case 11: {
        const auto state = static_cast<UpgradeState>(server.some(10));
        return label(key::state, state == UpgradeState::Unknown ? Json() : Json(state_name(state)));
    }
    case 12:
        (void)server.patch(
            node, {{"metadata", {{"annotations", {{key::record, server.some(1) == 0 ? "{" : "[1]"}}}}}});
        return;
    case 13:
        host.machine.is_known = !host.machine.is_known;
        host.machine.heard = true;
        return;
    default:
        return;
    }
}

/// Reverts manual changes that would block the rollout.
void tidy(Story& story) {
    UpgradePolicy& policy = story.policy.pools[0].policy;
    policy.mode = UpgradeMode::Controlled;
    policy.driver_enabled = true;
    policy.version = "590.1";
    story.tell_policy();
    for (unsigned i = 0; i < story.hosts.size(); ++i) {
        Story::Host& host = *story.hosts[i];
        host.machine.is_known = host.machine.heard = true;
        if (story.server.find(node_path(host.name)) == nullptr)
            story.add_node(i);
        const Json labels = {{key::skip, nullptr}, {key::gpu_present, "true"}};
        (void)story.server.patch(node_path(host.name),
                                 {{"metadata", {{"labels", labels}}},
                                  {"spec", {{"unschedulable", nullptr}}},
                                  {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
    }
}

void tell(unsigned seed, Shape shape, const std::function<void(Story&)>& event) {
    Story story(seed, shape);
    for (unsigned i = 0; i < 50 && story.problems.empty(); ++i) {
        event(story);
        story.run(Time(story.server.some(30'000)));
        if (story.is_over()) {
            UpgradePolicy& policy = story.policy.pools[0].policy;
            policy.version = "570." + std::to_string(i);
            story.log_line("version " + policy.version + " is wanted");
            story.tell_policy();
        }
    }
    story.server.faults = {};
    story.log_line("all is well from here on");
    tidy(story);
    for (unsigned i = 0; i < 240 && story.problems.empty() && !story.is_over(); ++i)
        story.run(Time(60'000));
    ASSERT_TRUE(story.problems.empty()) << "SEED=" << seed << "\n" << story.text();
    ASSERT_TRUE(story.is_over()) << "SEED=" << seed << ": not all hosts are upgraded\n" << story.text();
    ASSERT_EQ(story.begun_without_grant, "") << "SEED=" << seed << "\n" << story.text();
}

Shape shape_of(unsigned seed, bool release) {
    Shape shape;
    shape.parallel = 1 + seed % 2;
    shape.silence = Seconds(seed % 3 == 0 ? 60 : 600);
    shape.release = release;
    return shape;
}

void tell_stories(bool release, const std::function<void(Story&)>& event) {
    const unsigned first = number_of("SEED", 1);
    for (unsigned seed = first; seed < first + number_of("STORIES", 2) && !::testing::Test::HasFatalFailure();
         ++seed)
        tell(seed, shape_of(seed, release), event);
}

/// Delays the first grant for most of a minute. Its host is skipped meanwhile, so that another host gets the
/// slot. `unseats`: the leader that requested the grant loses its term.
void hold_the_first_grant(Story& story, bool unseats) {
    for (auto& host : story.hosts)
        host->machine.takes = Time(600'000);
    std::string held;
    story.server.hold = [&held](const http::Request& request) {
        if (request.method != "POST" || !held.empty() || request.body.find(grant_prefix) == std::string::npos)
            return Time(0);
        held = base::string_or(Json::parse(request.body)["metadata"], "name", "");
        return Time(50'000);
    };
    while (held.empty())
        story.run(Time(100));
    const Json* const lease = story.server.find(std::string(leases_path) + "/" + leader_lease);
    ASSERT_NE(lease, nullptr);
    const std::string node = node_path(granted_node(held));
    (void)story.server.patch(node, {{"metadata", {{"labels", {{key::skip, "true"}}}}}});
    for (unsigned i = 0; i < story.hosts.size(); ++i)
        if (story.hosts[i]->name == lease_facts(*lease).holder) {
            if (unseats) {
                story.kill(i);
                story.start(i); // starts another term
            } else {
                story.server.cut(i, Time(100), false);
            }
        }
    story.server.forget();
    story.run(Time(45'000));
    (void)story.server.patch(node, {{"metadata", {{"labels", {{key::skip, nullptr}}}}}});
    story.run(Time(300'000));
    EXPECT_TRUE(story.problems.empty()) << story.text();
    EXPECT_EQ(story.at_it.size(), 1U) << story.text();
}

TEST(Rollout, LateGrantOfAFormerLeaderIsRefused) {
    Story story(1, {});
    hold_the_first_grant(story, true);
}

TEST(Rollout, UnansweredGrantCountsUntilItIsResolved) {
    Story story(1, {});
    hold_the_first_grant(story, false);
}

TEST(Rollout, GrantCountsOnceItsHostRenewedIt) {
    Story story(1, {});
    for (auto& host : story.hosts)
        host->machine.takes = Time(60'000);
    story.server.hold = [](const http::Request& request) {
        const bool renews = request.method == "PATCH" && request.url.find(grant_prefix) != std::string::npos;
        return Time(renews ? 20'000 : 0);
    };
    story.run(Time(15'000));
    EXPECT_EQ(story.server.below(leases_path).size(), 3U) << "a grant exists\n" << story.text();
    EXPECT_TRUE(story.at_it.empty()) << story.text();
    story.run(Time(15'000));
    EXPECT_EQ(story.at_it.size(), 1U) << story.text();
}

TEST(Rollout, GrantDelayedByEndingLeaseFollowsItsRenewal) {
    Story story(1, {.hosts = 2, .candidates = 1});
    story.hosts[0]->machine.running = wanted;
    (void)story.server.patch(node_path("h1"), {{"metadata", {{"labels", {{key::skip, "true"}}}}}});
    Time asked{0};        // time of the last request for the Lease
    bool is_late = false; // delays the renewal until the Lease has nearly ended
    story.server.hold = [&](const http::Request& request) {
        if (request.method != "PATCH" || request.url.find(leader_lease) == std::string::npos)
            return Time(0);
        const Time before_that = std::exchange(asked, story.server.now());
        return is_late ? before_that + Time(14'200) - asked : Time(0);
    };
    story.run(Time(60'000));
    ASSERT_NE(asked.count(), 0) << story.text();
    is_late = true;
    story.hosts[1]->paused_until = story.server.now() + std::chrono::hours(1); // nothing else changes
    story.run(asked + Time(12'500) - story.server.now());
    (void)story.server.patch(node_path("h1"), {{"metadata", {{"labels", {{key::skip, nullptr}}}}}});
    story.run(Time(1'000));
    ASSERT_EQ(story.server.find(grant_path("h1")), nullptr) << "nothing is started\n" << story.text();
    is_late = false;
    story.run(Time(4'000));
    EXPECT_NE(story.server.find(grant_path("h1")), nullptr) << story.text();
}

TEST(Rollout, LeaderReportsOnlyPoolsOfItsPolicy) {
    Story story(1, {});
    story.run(Time(60'000));
    unsigned led = 0;
    for (auto& host : story.hosts) {
        if (!host->process->leader || !host->process->leader->leads())
            continue;
        Leader& leader = *host->process->leader;
        ++led;
        EXPECT_EQ(leader.document()["pools"].size(), 1U);
        leader.set_policy(nullptr);
        EXPECT_EQ(leader.document()["pools"].size(), 0U);
        EXPECT_FALSE(leader.document().contains("auto_upgrade"));
    }
    EXPECT_EQ(led, 1U) << story.text();
}

TEST(Rollout, ChangedPolicyPlacesHostsByTheirLabels) {
    Story story(1, {});
    (void)story.server.patch(node_path("h1"), {{"metadata", {{"labels", {{"tier", "canary"}}}}}});
    story.run(Time(60'000));
    Policy policy = story.policy;
    policy.pools.insert(policy.pools.begin(),
                        {"canaries", *Selector::parse("tier=canary"), policy.pools[0].policy});
    for (auto& host : story.hosts) {
        if (!host->process->leader || !host->process->leader->leads())
            continue;
        Leader& leader = *host->process->leader;
        leader.set_policy(&policy);
        leader.turn();
        const Json pools = leader.document()["pools"];
        ASSERT_EQ(pools.size(), 2U);
        EXPECT_EQ(pools[0]["hosts"], 1) << pools;
        leader.set_policy(&story.policy);
    }
}

TEST(Rollout, LeaderKeepsItsLeaseWhileItRuns) {
    for (unsigned seed = 1; seed < 6; ++seed) {
        Story story(seed, {});
        story.run(std::chrono::minutes(5));
        const Json* const lease = story.server.find(std::string(leases_path) + "/" + leader_lease);
        ASSERT_NE(lease, nullptr);
        EXPECT_EQ(lease_facts(*lease).transitions, 1) << "SEED=" << seed << "\n" << story.text();
    }
}

bool leads(const Story& story, std::size_t i) {
    const auto& process = story.hosts[i]->process;
    return process && process->leader && process->leader->leads();
}

TEST(Rollout, RestartedLeaderLeadsAgainAtOnce) {
    Story story(1, {.candidates = 1});
    story.run(Time(60'000));
    ASSERT_TRUE(leads(story, 0)) << story.text();
    story.kill(0);
    story.start(0);
    story.run(Time(5'000));
    EXPECT_TRUE(leads(story, 0)) << "the Lease is its own\n" << story.text();
}

TEST(Rollout, AnotherCandidateLeadsAfterTheLeaseHasEnded) {
    Story story(1, {.candidates = 2});
    story.run(Time(60'000));
    const unsigned leader = leads(story, 0) ? 0 : 1;
    ASSERT_TRUE(leads(story, leader) && !leads(story, 1 - leader)) << story.text();
    story.kill(leader);
    story.run(Time(9'000)); // renewed at most 5 s before, for 15 s
    EXPECT_FALSE(leads(story, 1 - leader)) << story.text();
    story.run(Time(40'000));
    EXPECT_TRUE(leads(story, 1 - leader)) << story.text();
}

// Requests of the ended term may still take effect; only a new term makes them void.
TEST(Rollout, RenewalAnsweredTooLateBeginsANewTerm) {
    Story story(1, {.candidates = 1});
    story.run(Time(60'000));
    ASSERT_TRUE(leads(story, 0)) << story.text();
    bool is_late = true;
    story.server.hold = [&](const http::Request& request) {
        const bool renews = request.method == "PATCH" && request.url.find(leader_lease) != std::string::npos;
        return Time(renews && std::exchange(is_late, false) ? 11'000 : 0);
    };
    story.run(Time(40'000));
    ASSERT_FALSE(is_late);
    EXPECT_TRUE(leads(story, 0)) << story.text();
    const Json* const lease = story.server.find(std::string(leases_path) + "/" + leader_lease);
    ASSERT_NE(lease, nullptr);
    EXPECT_EQ(lease_facts(*lease).transitions, 2) << story.text();
}

TEST(Rollout, ClocksHoursApartChangeNothing) {
    Story story(1, {});
    for (unsigned i = 0; i < story.hosts.size(); ++i)
        story.server.set_clock(i, std::chrono::seconds(7'200) * (static_cast<int>(i) - 2));
    for (auto& host : story.hosts)
        host->machine.fail_next = 1;
    story.run(std::chrono::minutes(15));
    EXPECT_TRUE(story.problems.empty() && story.is_over()) << story.text();
}

/// Counts the requests of each host to a server that fails, refuses or does not answer.
TEST(Rollout, FailingServerGetsFewRequests) {
    constexpr unsigned minutes = 20; // requests are more frequent in the first of them
    for (unsigned trouble = 0; trouble < 4; ++trouble) {
        Story story(7, {});
        story.run(Time(1'000));
        NetworkFaults& faults = story.server.faults;
        (trouble == 0 ? faults.failed : trouble == 1 ? faults.refused : faults.unheard) = 1000;
        for (unsigned i = 0; i < story.hosts.size(); ++i)
            story.server.cut(i, trouble == 3 ? Time(std::chrono::minutes(minutes)) : Time(0), false);
        story.server.calls_of.clear();
        story.run(std::chrono::minutes(minutes));
        for (unsigned i = 0; i < story.hosts.size(); ++i)
            EXPECT_LE(story.server.calls_of[i], minutes * (i < story.shape.candidates ? 12 : 8))
                << "trouble " << trouble << " of " << story.hosts[i]->name;
        faults = {};
        story.run(std::chrono::minutes(30));
        EXPECT_TRUE(story.problems.empty() && story.is_over()) << "trouble " << trouble << "\n"
                                                               << story.text();
    }
}

/// If people delete Leases, hosts may act without a grant until they see the deletion.
void harm_or_meddle(Story& story) {
    if (story.server.some(1) == 0)
        harm(story);
    else
        meddle(story);
    story.begun_without_grant.clear();
}

void tell_stories_with_people(bool release) {
    tell_stories(release, harm_or_meddle);
}

TEST(Rollout, LimitsHoldWithAnyManualChanges) {
    tell_stories_with_people(false);
}

TEST(Rollout, LimitsHoldWithManualChangesAndReleasedSlots) {
    tell_stories_with_people(true);
}

/// Seeds that once released a slot during its host's upgrade: the label was missing, or a person had set the
/// state.
TEST(Rollout, SlotIsKeptWithAnyManualLabels) {
    for (const unsigned seed : {13U, 27U, 112U, 121U})
        for (const bool release : {false, true})
            tell(seed, shape_of(seed, release), harm_or_meddle);
}

TEST(Rollout, LimitsHoldWithNetworkFaults) {
    tell_stories(false, harm);
}

TEST(Rollout, LimitsHoldWithChangingLeaders) {
    tell_stories(false, unseat);
}

TEST(Rollout, LimitsHoldWithReleasedSlotsOfSilentHosts) {
    tell_stories(true, harm);
}

} // namespace
} // namespace gpuhost::cluster
