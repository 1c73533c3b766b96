// SPDX-License-Identifier: Apache-2.0
// Interferes with an upgrade in each of its states.
#include "tests/unit/cluster/upgrade_rig.hpp"

#include <functional>

namespace gpuhost::cluster {
namespace {

using base::Json;
using tests::before;
using tests::Rig;
using tests::wanted;
using Given = std::function<void(Rig&)>;

const std::vector<std::string> states{"",
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

/// Returns a host whose upgrade has just reached `state`.
Rig at(const std::string& state) {
    Rig rig;
    rig.policy.retries = 0;
    rig.policy.wait_for = Selector::parse("job=yes").value();
    rig.policy.deletion.enabled = state != "drain-required";
    rig.policy.drain.enabled = state == "drain-required";
    rig.swap_fails = state == "upgrade-failed";
    for (unsigned left = 40; left > 0 && rig.state() != state; --left)
        (void)rig.step();
    EXPECT_EQ(rig.state(), state);
    rig.swap_fails = false;
    return rig;
}

/// Expects the outcome of an upgrade and no other traces.
void expect_served(const Rig& rig, const std::string& version) {
    EXPECT_EQ(rig.state(), "upgrade-done");
    EXPECT_EQ(rig.driver.running, version);
    EXPECT_FALSE(rig.cordoned());
    for (const char* name : {key::was_unschedulable, key::wait_began, key::validation_began, key::requested})
        EXPECT_EQ(rig.annotation(name), "") << name;
}

/// Runs until all timeouts are over. Requests another attempt if the upgrade failed.
void ask_again(Rig& rig) {
    rig.wait(3'000);
    if (rig.state() == "upgrade-failed")
        rig.node["metadata"]["labels"][key::state] = "upgrade-required";
    rig.settle();
}

void at_each_state(const Given& happens, const Given& then) {
    for (const std::string& state : states) {
        SCOPED_TRACE("at '" + state + "'");
        Rig rig = at(state);
        happens(rig);
        rig.settle();
        then(rig);
    }
}

TEST(UpgradeTable, AutoUpgradeOffAndOnRecoversEachState) {
    at_each_state([](Rig& rig) { rig.policy.mode = UpgradeMode::OnRequest; },
                  [](Rig& rig) {
                      EXPECT_FALSE(rig.cordoned());
                      EXPECT_TRUE(rig.state().empty() || rig.state() == "upgrade-failed") << rig.state();
                      rig.policy.mode = UpgradeMode::Controlled;
                      ask_again(rig);
                      expect_served(rig, wanted);
                  });
}

TEST(UpgradeTable, DriverDisabledAndEnabledRecoversEachState) {
    at_each_state([](Rig& rig) { rig.policy.driver_enabled = false; },
                  [](Rig& rig) {
                      EXPECT_FALSE(rig.cordoned());
                      EXPECT_TRUE(rig.state().empty() || rig.state() == "upgrade-failed") << rig.state();
                      rig.policy.driver_enabled = true;
                      ask_again(rig);
                      expect_served(rig, wanted);
                  });
}

TEST(UpgradeTable, AnotherVersionIsReachedFromEachState) {
    for (const char* version : {"570.86.15", before})
        at_each_state([version](Rig& rig) { rig.policy.version = version; },
                      [version](Rig& rig) { expect_served(rig, version); });
}

TEST(UpgradeTable, PolicyProblemBlocksOnlyHostsNotStarted) {
    at_each_state([](Rig& rig) { rig.policy_problem = "no such field"; },
                  [](Rig& rig) {
                      if (rig.swaps == 0) {
                          EXPECT_EQ(rig.state(), "upgrade-required");
                          EXPECT_EQ(rig.annotation(key::reason), "the policy has a problem: no such field");
                      }
                      EXPECT_FALSE(rig.cordoned());
                      rig.policy_problem.clear();
                      ask_again(rig);
                      expect_served(rig, wanted);
                  });
}

TEST(UpgradeTable, MissingDaemonChangesNothingInEachState) {
    for (const std::string& state : states) {
        SCOPED_TRACE("at '" + state + "'");
        Rig rig = at(state);
        const UpgradeNode was = upgrade_node(rig.node);
        rig.driver.is_known = false;
        rig.wait(100'000);
        UpgradeRecord record = upgrade_node(rig.node).record;
        EXPECT_EQ(record.prepared, was.record.prepared && state != "upgrade-required")
            << "such a host would not use a grant";
        record.prepared = was.record.prepared;
        EXPECT_EQ(record, was.record);
        EXPECT_EQ(rig.state(), state);
        rig.driver.is_known = true;
        rig.settle();
        ask_again(rig);
        expect_served(rig, wanted);
    }
}

TEST(UpgradeTable, RecreatedNodeRecoversFromEachState) {
    at_each_state(
        [](Rig& rig) {
            rig.node = {
                {"metadata",
                 {{"name", "a"}, {"uid", "another"}, {"resourceVersion", "9"}, {"labels", Json::object()}}},
                {"spec", Json::object()}};
            rig.granted = false;
            rig.swap = {};
        },
        [](Rig& rig) {
            EXPECT_FALSE(rig.cordoned());
            rig.granted = true;
            rig.settle();
            expect_served(rig, wanted);
        });
}

TEST(UpgradeTable, RebootRecoversFromEachState) {
    for (const bool half : {false, true})
        at_each_state(
            [half](Rig& rig) {
                rig.driver.boot = "boot2";
                rig.swap = {};
                if (half && rig.state() == "pod-restart-required") { // either version may boot
                    rig.driver.running = wanted;
                }
            },
            [](Rig& rig) {
                ask_again(rig);
                expect_served(rig, wanted);
            });
}

TEST(UpgradeTable, BootWithTheOldDriverDuringValidationRetries) {
    Rig rig = at("validation-required");
    rig.policy.retries = 1;
    rig.driver.running = before;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-required");
    EXPECT_FALSE(rig.cordoned());
    rig.wait(60);
    expect_served(rig, wanted);
}

TEST(UpgradeTable, ManualCordonIsKeptInEachState) {
    for (const bool cordoned : {false, true})
        for (const std::string& state : states) {
            SCOPED_TRACE("at '" + state + "'");
            Rig rig = at(state);
            const bool by_us = upgrade_node(rig.node).record.cordoned;
            rig.node["spec"]["unschedulable"] = cordoned;
            rig.settle();
            ask_again(rig);
            EXPECT_EQ(rig.state(), "upgrade-done");
            EXPECT_EQ(rig.driver.running, wanted);
            EXPECT_EQ(rig.cordoned(), cordoned && !by_us)
                << "a manual cordon is not visible on a Node that gpuhost cordoned";
            EXPECT_EQ(rig.annotation(key::was_unschedulable), "");
        }
}

TEST(UpgradeTable, AnyStateLabelRecoversFromEachState) {
    std::vector<std::string> labels = states;
    labels.insert(labels.end(), {"node-maintenance-required", "post-maintenance-required", "no state"});
    for (const std::string& label : labels) {
        SCOPED_TRACE("label '" + label + "'");
        at_each_state(
            [&](Rig& rig) {
                if (label.empty())
                    rig.node["metadata"]["labels"].erase(key::state);
                else
                    rig.node["metadata"]["labels"][key::state] = label;
            },
            [](Rig& rig) {
                ask_again(rig);
                expect_served(rig, wanted);
            });
    }
}

TEST(UpgradeTable, MalformedRecordRecoversFromEachState) {
    for (const char* text :
         {"", "{", "[]", "null", "7",
          R"({"state":"drain-required","cordoned":true,"since":99999999999999,"attempts":-3})",
          R"({"version":{},"cordoned":"yes","since":"now"})"}) {
        SCOPED_TRACE(text);
        at_each_state([text](Rig& rig) { rig.node["metadata"]["annotations"][key::record] = text; },
                      [](Rig& rig) {
                          ask_again(rig);
                          expect_served(rig, wanted);
                      });
    }
}

TEST(UpgradeTable, WithoutAFreshGrantNoStateStartsAnything) {
    for (const std::string& state : states) {
        SCOPED_TRACE("at '" + state + "'");
        Rig rig = at(state);
        rig.granted = false;
        rig.needs_reboot = rig.policy.may_reboot = rig.policy.drain.enabled = true;
        const unsigned swaps = rig.swaps;
        const bool cordoned = rig.cordoned();
        rig.settle();
        EXPECT_EQ(rig.swaps, swaps);
        EXPECT_EQ(rig.reboots, 0U);
        EXPECT_TRUE(!rig.cordoned() || cordoned);
    }
}

TEST(UpgradeTable, GrantRevokedDuringSwapWaitsForAnother) {
    Rig rig = at("pod-restart-required");
    rig.driver.running.clear();
    rig.driver.ready = false;
    rig.granted = false;
    rig.revoked = true;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-required");
    EXPECT_TRUE(rig.cordoned()) << "the host has no working driver";
    rig.granted = true;
    rig.revoked = false;
    rig.settle();
    expect_served(rig, wanted);
}

} // namespace
} // namespace gpuhost::cluster
