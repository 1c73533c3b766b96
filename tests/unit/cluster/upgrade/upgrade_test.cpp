// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cluster/upgrade_rig.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;
using tests::before;
using tests::Rig;
using tests::wanted;

using Path = std::vector<std::string>;

const Path whole{"upgrade-required",    "cordon-required",   "pod-deletion-required", "pod-restart-required",
                 "validation-required", "uncordon-required", "upgrade-done"};

TEST(Upgrade, PassesThroughTheOperatorsStates) {
    Rig rig;
    rig.settle();
    EXPECT_EQ(rig.path, whole);
    EXPECT_EQ(rig.driver.running, wanted);
    EXPECT_FALSE(rig.cordoned());
    Path labels;
    for (const std::string& state : whole)
        labels.push_back("Successfully updated node state label to " + state);
    rig.told.erase(std::remove_if(rig.told.begin(), rig.told.end(),
                                  [](const auto& event) { return event.find("annotation") != event.npos; }),
                   rig.told.end());
    EXPECT_EQ(rig.told, labels);
    EXPECT_EQ(rig.annotation(key::was_unschedulable) + rig.annotation(key::validation_began) +
                  rig.annotation(key::reason),
              "");
}

TEST(Upgrade, HostWithoutGpusHasNoState) {
    Rig rig;
    rig.driver.running = wanted;
    rig.settle();
    EXPECT_EQ(rig.path, Path{"upgrade-done"});
    Rig bare;
    bare.driver.has_gpus = false;
    bare.settle();
    EXPECT_TRUE(bare.path.empty());
}

TEST(Upgrade, UnavailableVersionIsReportedAndNotStarted) {
    Rig rig;
    rig.check = {Task::State::Failed, "version 550.163.01 is not in the store", false};
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-required");
    EXPECT_EQ(rig.annotation(key::reason), "version 550.163.01 is not in the store");
    EXPECT_FALSE(upgrade_node(rig.node).record.prepared);
    EXPECT_FALSE(next_decision(rig.situation()).wants_grant);
    rig.check = {Task::State::Done, "", false};
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
}

TEST(Upgrade, HostThatCannotUseAGrantIsUnprepared) {
    Rig rig;
    rig.granted = false;
    rig.settle();
    ASSERT_TRUE(upgrade_node(rig.node).record.prepared);
    rig.policy_problem = "rollout.new is not known";
    rig.settle();
    EXPECT_FALSE(upgrade_node(rig.node).record.prepared);
    EXPECT_EQ(rig.annotation(key::reason), "the policy has a problem: rollout.new is not known");
    rig.policy_problem.clear();
    rig.settle();
    ASSERT_TRUE(upgrade_node(rig.node).record.prepared);
    rig.policy.windows.push_back(
        parse_window({{"days", {"Sat"}}, {"start", "22:00"}, {"end", "23:00"}}).value());
    rig.settle();
    EXPECT_FALSE(upgrade_node(rig.node).record.prepared) << "outside the window, on a Friday";
    rig.policy.windows.clear();
    rig.settle();
    ASSERT_TRUE(upgrade_node(rig.node).record.prepared);
    rig.driver.is_known = false;
    rig.settle();
    EXPECT_FALSE(upgrade_node(rig.node).record.prepared);
    EXPECT_EQ(rig.annotation(key::reason), "gpuhostd does not answer");
    rig.driver.is_known = rig.granted = true;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
}

TEST(Upgrade, ManualUpgradeStateIsARequest) {
    for (const char* state : {"cordon-required", "pod-deletion-required", "pod-restart-required",
                              "validation-required", "uncordon-required"}) {
        SCOPED_TRACE(state);
        Rig rig;
        rig.settle();
        ASSERT_EQ(rig.state(), "upgrade-done");
        rig.granted = false;
        rig.node["metadata"]["labels"][key::state] = state;
        rig.settle();
        EXPECT_EQ(rig.state(), "upgrade-required");
        EXPECT_TRUE(upgrade_node(rig.node).record.requested);
        rig.granted = true;
        rig.settle();
        EXPECT_EQ(rig.state(), "upgrade-done");
        EXPECT_FALSE(rig.cordoned());
    }
}

TEST(Upgrade, RecordsWhetherTheNodeWasUnavailableBefore) {
    Rig rig;
    rig.node["spec"]["unschedulable"] = true;
    rig.settle();
    ASSERT_EQ(rig.state(), "upgrade-done");
    EXPECT_TRUE(upgrade_node(rig.node).record.away);
    rig.node["spec"].erase("unschedulable");
    rig.settle();
    EXPECT_FALSE(upgrade_node(rig.node).record.away);
    rig.node["spec"]["unschedulable"] = true;
    rig.settle();
    EXPECT_FALSE(upgrade_node(rig.node).record.away) << "it became unavailable after its upgrade";
}

TEST(Upgrade, CordonedNodeStaysCordoned) {
    Rig rig;
    rig.node["spec"]["unschedulable"] = true;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
    EXPECT_TRUE(rig.cordoned());
    EXPECT_EQ(rig.annotation(key::was_unschedulable), "");
    EXPECT_EQ(rig.path.back(), "upgrade-done");
    EXPECT_EQ(rig.path[rig.path.size() - 2], "validation-required") << "the Node stays cordoned";
}

TEST(Upgrade, JobsAreAwaitedUntilThePolicysTimeout) {
    Rig rig;
    rig.policy.wait_for = Selector::parse("job=yes").value();
    rig.policy.wait_timeout = Seconds(100);
    rig.jobs = {Task::State::Running, "default/train", false};
    rig.settle();
    EXPECT_EQ(rig.state(), "wait-for-jobs-required");
    EXPECT_EQ(rig.annotation(key::wait_began), std::to_string(rig.now));
    EXPECT_EQ(rig.annotation(key::reason), "waits for pods to end: default/train");
    rig.wait(100);
    EXPECT_EQ(rig.state(), "upgrade-done");
    EXPECT_EQ(rig.annotation(key::wait_began), "");
}

TEST(Upgrade, RemainingPodsAreDrainedOrFailTheUpgrade) {
    Rig rig;
    rig.pods = {Task::State::Failed, "default/a has an emptyDir", false};
    rig.policy.retries = 0;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-failed");
    EXPECT_EQ(upgrade_node(rig.node).record.failure, "eviction");
    EXPECT_FALSE(rig.cordoned()) << "the previous driver still works";
    EXPECT_EQ(rig.swaps, 0U);
    EXPECT_EQ(rig.told[3],
              "Failed to delete workload pods on the node for the driver upgrade, default/a has an emptyDir");

    Rig drains;
    drains.pods = rig.pods;
    drains.policy.drain.enabled = true;
    drains.policy.retries = 0;
    drains.settle();
    EXPECT_EQ(drains.path[3], "drain-required");
    EXPECT_EQ(upgrade_node(drains.node).record.failure, "drain");
}

TEST(Upgrade, FailedSwapIsRetriedThenFails) {
    Rig rig;
    rig.swap_fails = true;
    rig.policy.retries = 2;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-required");
    EXPECT_FALSE(rig.cordoned());
    EXPECT_FALSE(next_decision(rig.situation()).wants_grant) << "the slot is free for others meanwhile";
    EXPECT_FALSE(upgrade_node(rig.node).record.prepared)
        << "the leader, with a different clock, relies on it";
    rig.wait(59);
    EXPECT_EQ(rig.swaps, 1U);
    rig.wait(1);
    EXPECT_EQ(rig.swaps, 2U);
    rig.wait(119);
    EXPECT_EQ(rig.swaps, 2U) << "the delay doubles with each attempt";
    rig.wait(1);
    EXPECT_EQ(rig.state(), "upgrade-failed");
    EXPECT_EQ(rig.swaps, 3U);
    EXPECT_EQ(upgrade_node(rig.node).record.cause, "the kernel refused the module");
    EXPECT_FALSE(rig.cordoned());
    rig.wait(100'000);
    EXPECT_EQ(rig.swaps, 3U);

    // An administrator retries.
    rig.swap_fails = false;
    rig.node["metadata"]["labels"][key::state] = "upgrade-required";
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
}

/// Crashes the host during its swap and boots it again.
void go_down(Rig& rig) {
    while (rig.state() != "pod-restart-required")
        ASSERT_TRUE(rig.step());
    rig.driver.running.clear();
    rig.driver.ready = false;
    rig.swap = {Task::State::Failed, "the host went down", false};
    rig.settle();
    ASSERT_EQ(rig.state(), "upgrade-failed");
    ASSERT_TRUE(rig.cordoned());
    rig.wait(100);
    ASSERT_TRUE(rig.cordoned()) << "until it has a working driver";
    rig.driver.running = before;
    rig.driver.ready = true;
    rig.settle();
}

TEST(Upgrade, HostThatCrashedDuringSwapRecoversAndRetries) {
    Rig rig;
    rig.policy.retries = 1;
    go_down(rig);
    EXPECT_EQ(rig.state(), "upgrade-required");
    EXPECT_FALSE(rig.cordoned());
    rig.wait(59);
    EXPECT_EQ(rig.swaps, 0U);
    rig.wait(1);
    EXPECT_EQ(rig.state(), "upgrade-done");
    EXPECT_EQ(rig.driver.running, wanted);
}

TEST(Upgrade, HostThatCrashedInItsLastAttemptRecovers) {
    Rig rig;
    rig.policy.retries = 0;
    go_down(rig);
    EXPECT_EQ(rig.state(), "upgrade-failed");
    EXPECT_FALSE(rig.cordoned());
    EXPECT_EQ(upgrade_node(rig.node).record.cause, "the host went down");
    rig.wait(100'000);
    EXPECT_EQ(rig.swaps, 0U);
}

TEST(Upgrade, ClockSetBackDoesNotDelayRetries) {
    Rig rig;
    rig.swap_fails = true;
    rig.policy.retries = 1;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-required");
    rig.now -= 100'000'000;
    rig.swap_fails = false;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
}

TEST(Upgrade, NewVersionRestartsAFailedHost) {
    Rig rig;
    rig.swap_fails = true;
    rig.policy.retries = 0;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-failed");
    rig.swap_fails = false;
    rig.policy.version = "570.86.15";
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
    EXPECT_EQ(rig.driver.running, "570.86.15");
}

TEST(Upgrade, ValidationTimeoutRollsBack) {
    Rig rig;
    rig.never_ready = true;
    rig.policy.retries = 0;
    rig.settle();
    EXPECT_EQ(rig.state(), "validation-required");
    EXPECT_EQ(rig.annotation(key::reason), "its devices are not there");
    rig.wait(600);
    EXPECT_EQ(rig.state(), "upgrade-failed");
    EXPECT_EQ(rig.driver.running, before);
    EXPECT_FALSE(rig.cordoned());
    EXPECT_EQ(rig.annotation(key::reason),
              "validation: its devices are not there; version 535.216.01 runs again");
}

TEST(Upgrade, ValidationTimeoutStartsOnceValidatorsAreVisible) {
    Rig rig;
    rig.policy.retries = 0;
    rig.validators = {Task::State::Running, "can't watch this node's pods", false, rig.now + 100'000};
    rig.settle();
    ASSERT_EQ(rig.state(), "validation-required");
    rig.wait(50'000); // the API server is not reachable
    EXPECT_EQ(rig.state(), "validation-required");
    EXPECT_EQ(rig.due(), rig.now + 50'000) << "an earlier wake-up has no effect";
    rig.validators = {};
    rig.settle();
    EXPECT_EQ(rig.state(), "validation-required") << "the pods were not observed yet";
    EXPECT_GT(rig.due().value_or(rig.now + 3'600), rig.now + 3'000);
    rig.validators = {Task::State::Running, "it is not ready", false, rig.now + 60};
    rig.settle();
    EXPECT_EQ(rig.state(), "validation-required");
    EXPECT_EQ(rig.due(), rig.now + 60);
    rig.wait(60);
    EXPECT_EQ(rig.state(), "upgrade-failed");
}

TEST(Upgrade, LateSwapIsCancelledWithoutAWakeTime) {
    Rig rig;
    rig.policy.swap_timeout = Seconds(1'200);
    rig.swap_hangs = true;
    rig.settle();
    ASSERT_EQ(rig.state(), "pod-restart-required");
    rig.swap = {Task::State::Running, "unloads modules", false};
    EXPECT_EQ(rig.due(), rig.now + 1'200);
    rig.wait(2'000);
    EXPECT_EQ(next_decision(rig.situation()).act, UpgradeAct::CancelSwap);
    EXPECT_FALSE(rig.due().has_value());
}

TEST(Upgrade, OperationDuringValidationIsAwaited) {
    Rig rig;
    rig.never_ready = true;
    rig.policy.retries = 0;
    rig.settle();
    rig.driver.changing = true;
    rig.driver.problem = "an operation goes on";
    const Json before_it = rig.node;
    rig.wait(6'000);
    EXPECT_EQ(rig.node, before_it);
    rig.driver.changing = false;
    rig.driver.ready = true;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
    EXPECT_EQ(rig.driver.running, wanted);
}

TEST(Upgrade, RemovedDoneLabelDoesNotRestartTheSoak) {
    Rig rig;
    rig.settle();
    ASSERT_EQ(rig.state(), "upgrade-done");
    const std::int64_t since = upgrade_node(rig.node).record.since;
    rig.node["status"]["conditions"] = {
        {{"type", "Ready"}, {"status", "False"}}}; // it breaks after the upgrade
    rig.now += 600;
    rig.node["metadata"]["labels"].erase(key::state);
    rig.settle();
    ASSERT_EQ(rig.state(), "upgrade-done");
    EXPECT_EQ(upgrade_node(rig.node).record.since, since);
    EXPECT_FALSE(upgrade_node(rig.node).record.away) << "it was available when it was upgraded";
}

TEST(Upgrade, OperationOnAnIdleHostWritesNothing) {
    Rig rig;
    rig.driver.running = wanted;
    rig.settle();
    ASSERT_EQ(rig.state(), "upgrade-done");
    rig.driver.changing = true;
    rig.driver.ready = false;
    rig.driver.problem = "an operation goes on";
    EXPECT_FALSE(rig.step());
    EXPECT_EQ(rig.annotation(key::reason), "");
}

TEST(Upgrade, DriverThatRecoversBeforeTheRollbackStays) {
    Rig rig;
    rig.never_ready = true;
    rig.policy.retries = 0;
    rig.settle();
    rig.now += 600;
    rig.swap = {};
    UpgradeDecision move = next_decision(rig.situation());
    ASSERT_EQ(move.record.failure, "validation");
    rig.node.merge_patch(upgrade_patch(rig.node, move).node.body);
    rig.driver.ready = true;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
    EXPECT_EQ(rig.driver.running, wanted);
}

TEST(Upgrade, AnnotationsAreBounded) {
    Rig rig;
    rig.check = {Task::State::Failed, std::string(300'000, 'x'), false};
    rig.settle();
    EXPECT_EQ(rig.annotation(key::reason).size(), 4096U);
    rig.check = {Task::State::Done, "", false};
    rig.policy.retries = 0;
    rig.swap_fails = true;
    rig.settle();
    rig.swap.text = std::string(300'000, 'x');
    rig.settle();
    EXPECT_LT(rig.annotation(key::record).size(), 5'000U);
}

TEST(Upgrade, ValidationIsNotSkippedByARetry) {
    Rig rig;
    rig.validators = {Task::State::Running, "nvidia-operator-validator is not ready", false};
    rig.policy.retries = 0;
    rig.policy.rollback = false;
    rig.settle();
    rig.wait(600);
    EXPECT_EQ(rig.state(), "upgrade-failed");
    rig.wait(1000);
    EXPECT_EQ(rig.state(), "upgrade-failed") << "a running driver alone is not validated";
    rig.node["metadata"]["labels"][key::state] = "upgrade-required";
    rig.settle();
    EXPECT_EQ(rig.state(), "validation-required");
    rig.validators = {Task::State::Done, "", false};
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
}

TEST(Upgrade, RebootsOnceIfAllowed) {
    Rig rig;
    rig.needs_reboot = true;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-failed");
    EXPECT_TRUE(rig.cordoned()) << "the host has no working driver";
    EXPECT_EQ(rig.reboots, 0U);

    Rig may;
    may.needs_reboot = may.policy.may_reboot = may.policy.drain.enabled = true;
    may.settle();
    EXPECT_EQ(may.reboots, 1U);
    EXPECT_EQ(may.state(), "upgrade-done");
}

TEST(Upgrade, DrainsByTheDrainsRulesBeforeReboot) {
    Rig rig;
    rig.needs_reboot = rig.policy.may_reboot = rig.policy.drain.enabled = true;
    while (rig.state() != "pod-restart-required")
        ASSERT_TRUE(rig.step());
    rig.pods = {Task::State::Running, "default/web (needs 2 healthy pods)", false};
    rig.now += 200; // the time of the swap
    rig.settle();
    EXPECT_EQ(rig.reboots, 0U);
    EXPECT_EQ(next_decision(rig.situation()).act, UpgradeAct::Drain);
    EXPECT_EQ(upgrade_node(rig.node).record.since, rig.now) << "the drain's timeout starts here";
    EXPECT_EQ(rig.annotation(key::reason),
              "drains the node before it is rebooted: default/web (needs 2 healthy pods)");
    EXPECT_EQ(rig.told.back(), "Scheduling drain of the node");
    Rig fails = rig;
    rig.pods = {Task::State::Done, "", false};
    rig.settle();
    EXPECT_EQ(rig.reboots, 1U);
    EXPECT_EQ(rig.state(), "upgrade-done");
    EXPECT_NE(std::find(rig.told.begin(), rig.told.end(), "Successfully drained the node"), rig.told.end());
    fails.pods = {Task::State::Failed, "default/web has not left", false};
    fails.settle();
    EXPECT_EQ(fails.reboots, 0U);
    EXPECT_EQ(fails.state(), "upgrade-failed");
    EXPECT_EQ(fails.annotation(key::reason), "drain: default/web has not left");
}

TEST(Upgrade, DrainBeforeTheSwapIsNotRepeated) {
    Rig rig;
    rig.needs_reboot = rig.policy.may_reboot = rig.policy.drain.enabled = true;
    rig.policy.deletion.enabled = false;
    rig.settle();
    EXPECT_EQ(rig.reboots, 1U);
    EXPECT_EQ(std::count(rig.told.begin(), rig.told.end(), "Successfully drained the node"), 1);
}

TEST(Upgrade, DisabledDrainPreventsTheReboot) {
    Rig rig;
    rig.needs_reboot = rig.policy.may_reboot = true;
    rig.settle();
    EXPECT_EQ(rig.reboots, 0U);
    EXPECT_EQ(rig.state(), "upgrade-failed");
    EXPECT_NE(rig.annotation(key::reason).find("drain.enable is false"), std::string::npos);
}

TEST(Upgrade, DrainEndsWhenThePolicyDisablesIt) {
    Rig rig;
    rig.policy.deletion.enabled = false;
    rig.policy.drain.enabled = true;
    rig.pods = {Task::State::Running, "default/web", false};
    rig.settle();
    EXPECT_EQ(rig.state(), "drain-required");
    rig.policy.drain.enabled = false;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-done");
}

TEST(Upgrade, SecondRebootRequestFailsTheUpgrade) {
    Rig rig;
    rig.policy.may_reboot = rig.policy.drain.enabled = true;
    rig.needs_reboot = true;
    for (unsigned i = 0; i < 20 && rig.state() != "upgrade-failed"; ++i) {
        (void)rig.step();
        if (rig.reboots > 0) {
            rig.driver.reboot_required = true;
            rig.driver.ready = false;
        }
    }
    EXPECT_EQ(rig.reboots, 1U);
    EXPECT_EQ(rig.state(), "upgrade-failed");
}

TEST(Upgrade, OperandsArePausedDuringTheSwap) {
    Rig rig;
    rig.node["metadata"]["labels"] = {{"nvidia.com/gpu.deploy.device-plugin", "true"},
                                      {"nvidia.com/gpu.deploy.dcgm", "false"},
                                      {"nvidia.com/gpu.deploy.mig-manager", "custom"}};
    while (rig.state() != "pod-restart-required")
        ASSERT_TRUE(rig.step());
    EXPECT_EQ(rig.node["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"],
              "paused-for-driver-upgrade");
    EXPECT_EQ(rig.node["metadata"]["labels"]["nvidia.com/gpu.deploy.dcgm"], "false");
    EXPECT_EQ(rig.node["metadata"]["labels"]["nvidia.com/gpu.deploy.mig-manager"],
              "custom_paused-for-driver-upgrade");
    rig.settle();
    EXPECT_EQ(rig.node["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"], "true");
    EXPECT_EQ(rig.node["metadata"]["labels"]["nvidia.com/gpu.deploy.mig-manager"], "custom");
}

TEST(Upgrade, ResumedOperandIsPausedAgain) {
    Rig rig;
    const std::string dcgm = "nvidia.com/gpu.deploy.dcgm";
    const std::string plugin = "nvidia.com/gpu.deploy.device-plugin";
    rig.node["metadata"]["labels"] = {{plugin, "true"}, {dcgm, "true"}};
    while (rig.state() != "pod-restart-required")
        ASSERT_TRUE(rig.step());
    auto& labels = rig.node["metadata"]["labels"];
    labels[plugin] = "true"; // another controller has reset a GPU, and restores what it has stopped
    labels[dcgm] = "false";  // the same for another GPU, whose reset still runs
    while (rig.state() == "pod-restart-required" && labels[plugin] == "true")
        ASSERT_TRUE(rig.step());
    EXPECT_EQ(rig.state(), "pod-restart-required");
    EXPECT_EQ(labels[plugin], "paused-for-driver-upgrade");
    rig.settle();
    EXPECT_EQ(labels[plugin], "true");
    EXPECT_EQ(labels[dcgm], "false") << "the other controller's";
}

TEST(Upgrade, RequestAnnotationStartsAnUpgradeAndIsRemoved) {
    Rig rig;
    rig.driver.running = wanted;
    rig.settle();
    rig.path.clear();
    rig.node["metadata"]["annotations"][key::requested] = "true";
    rig.settle();
    EXPECT_EQ(rig.path, whole);
    EXPECT_EQ(rig.annotation(key::requested), "");
}

TEST(Upgrade, WithoutAutoUpgradeHostWaitsForALabel) {
    Rig rig;
    rig.policy.mode = UpgradeMode::OnRequest;
    rig.settle();
    EXPECT_EQ(rig.state(), "");
    EXPECT_EQ(rig.annotation(key::reason), "the policy sets version 550.163.01; autoUpgrade is off");
    rig.node["metadata"]["labels"][key::state] = "upgrade-required";
    rig.settle();
    EXPECT_EQ(rig.driver.running, wanted);
    EXPECT_EQ(rig.state(), "") << "done, without a label as without the controller";
    EXPECT_EQ(rig.annotation(key::reason), "has 550.163.01; autoUpgrade is off");
    EXPECT_FALSE(rig.cordoned());
}

TEST(Upgrade, WithoutAutoUpgradeTheHostsAdministratorMayRequest) {
    Rig rig;
    rig.policy.mode = UpgradeMode::OnRequest;
    EXPECT_EQ(next_decision(rig.situation()).offer, wanted);
    rig.driver.requested = wanted;
    EXPECT_FALSE(next_decision(rig.situation()).drops_request) << "the Node does not have the request yet";
    rig.step();
    EXPECT_EQ(rig.state(), "upgrade-required");
    EXPECT_TRUE(next_decision(rig.situation()).drops_request) << "the Node has the request now";
    EXPECT_EQ(next_decision(rig.situation()).offer, "");
    rig.driver.requested.clear();
    rig.settle();
    EXPECT_EQ(rig.driver.running, wanted);
    EXPECT_EQ(Path(rig.path.begin(), rig.path.begin() + 4), Path(whole.begin(), whole.begin() + 4))
        << "the same path as with the label";
    EXPECT_EQ(next_decision(rig.situation()).offer, "");
}

TEST(Upgrade, AutoUpgradeSchedulesThePolicysVersion) {
    Rig rig;
    EXPECT_EQ(next_decision(rig.situation()).scheduled, wanted);
    EXPECT_EQ(next_decision(rig.situation()).offer, "");
    rig.driver.pinned = "560.35.03";
    EXPECT_EQ(next_decision(rig.situation()).scheduled, "") << "the host stays at its own version";
    rig.driver.pinned.clear();
    rig.settle();
    EXPECT_EQ(next_decision(rig.situation()).scheduled, wanted) << "also when it runs";
    rig.policy.mode = UpgradeMode::OnRequest;
    EXPECT_EQ(next_decision(rig.situation()).scheduled, "");
}

TEST(Upgrade, FailedAutoUpgradeIsOfferedForARequest) {
    Rig rig;
    rig.policy.retries = 0;
    rig.swap_fails = true;
    rig.settle();
    ASSERT_EQ(rig.state(), "upgrade-failed");
    EXPECT_EQ(next_decision(rig.situation()).offer, wanted);
    EXPECT_EQ(next_decision(rig.situation()).scheduled, "");
    rig.swap_fails = false;
    rig.driver.requested = wanted;
    rig.step();
    rig.driver.requested.clear();
    rig.settle();
    EXPECT_EQ(rig.driver.running, wanted);
}

TEST(Upgrade, HostsRequestForAnotherVersionIsDropped) {
    Rig rig;
    rig.policy.mode = UpgradeMode::OnRequest;
    rig.driver.requested = "560.35.03";
    EXPECT_TRUE(next_decision(rig.situation()).drops_request);
    rig.settle();
    EXPECT_EQ(rig.state(), "") << "the cluster requires another version";
    rig.driver.requested = wanted;
    rig.driver.running = wanted;
    EXPECT_TRUE(next_decision(rig.situation()).drops_request) << "the version runs already";
    rig.settle();
    EXPECT_EQ(rig.swaps, 0U);
}

TEST(Upgrade, FailedHostAcceptsAnotherRequest) {
    Rig rig;
    rig.policy.mode = UpgradeMode::OnRequest;
    rig.policy.retries = 0;
    rig.swap_fails = true;
    rig.driver.requested = wanted;
    rig.step();
    rig.driver.requested.clear();
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-failed");
    EXPECT_EQ(next_decision(rig.situation()).offer, wanted);
    rig.swap_fails = false;
    rig.driver.requested = wanted;
    rig.step();
    EXPECT_EQ(rig.state(), "upgrade-required");
    rig.driver.requested.clear();
    rig.settle();
    EXPECT_EQ(rig.driver.running, wanted);
}

TEST(Upgrade, PinnedVersionIsNotOverridden) {
    Rig rig;
    rig.driver.pinned = before;
    rig.settle();
    EXPECT_EQ(rig.state(), "upgrade-required");
    EXPECT_EQ(rig.annotation(key::reason),
              "gpuhostd.conf has Version=535.216.01, which the cluster does not override");
}

TEST(Upgrade, PauseInAnyStateReleasesOrFinishesHosts) {
    for (unsigned steps = 1; steps < 12; ++steps) {
        Rig rig;
        for (unsigned i = 0; i < steps; ++i)
            (void)rig.step();
        const std::string at = rig.state();
        rig.policy.mode = UpgradeMode::OnRequest;
        rig.settle();
        EXPECT_FALSE(rig.cordoned()) << at;
        EXPECT_EQ(rig.state(), "") << at;
        rig.policy.mode = UpgradeMode::Controlled;
        rig.settle();
        EXPECT_EQ(rig.state(), "upgrade-done") << at;
        EXPECT_EQ(rig.annotation(key::reason), "") << at;
        EXPECT_FALSE(rig.cordoned()) << at;
        EXPECT_EQ(rig.annotation(key::was_unschedulable), "") << at;
    }
}

TEST(Upgrade, RevokedGrantUndoesUnlessTheSwapRuns) {
    for (unsigned steps = 1; steps < 12; ++steps) {
        Rig rig;
        for (unsigned i = 0; i < steps; ++i)
            (void)rig.step();
        rig.granted = false;
        rig.revoked = true;
        rig.settle();
        EXPECT_FALSE(rig.cordoned()) << steps;
        EXPECT_EQ(rig.state(), rig.driver.running == before ? "upgrade-required" : "upgrade-done") << steps;
    }
}

TEST(Upgrade, WithoutAFreshGrantNoSwapStarts) {
    for (unsigned steps = 1; steps < 12; ++steps) {
        Rig rig;
        for (unsigned i = 0; i < steps; ++i)
            (void)rig.step();
        const unsigned swaps = rig.swaps;
        rig.granted = false;
        rig.settle();
        EXPECT_EQ(rig.swaps, swaps) << steps;
    }
}

/// Causes random manual changes and faults. Once they end, each host is upgraded, works, and is not cordoned.
TEST(Upgrade, RandomEventsEndInAnUpgradedHost) {
    std::mt19937 random(6);
    const auto some = [&](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); };
    for (unsigned story = 0; story < 400; ++story) {
        Rig rig;
        rig.policy.retries = some(2);
        rig.policy.rollback = some(1) == 0;
        rig.policy.drain.enabled = some(1) == 0;
        for (unsigned event = 0; event < 30; ++event) {
            switch (some(11)) {
            case 0:
                rig.policy.mode = some(1) == 0 ? UpgradeMode::OnRequest : UpgradeMode::Controlled;
                break;
            case 1:
                rig.swap_fails = !rig.swap_fails;
                break;
            case 2:
                rig.never_ready = !rig.never_ready;
                break;
            case 3:
                rig.granted = some(1) == 0;
                rig.revoked = !rig.granted && some(1) == 0;
                break;
            case 4:
                rig.pods = {some(1) == 0 ? Task::State::Failed : Task::State::Done, "x", false};
                break;
            case 5:
                rig.policy.version = some(1) == 0 ? wanted : "570.86.15";
                break;
            case 6:
                rig.now += some(1500);
                break;
            case 7:
                if (some(3) == 0)
                    rig.node["metadata"]["labels"][key::state] = "upgrade-required";
                break;
            case 8:
                if (some(3) == 0)
                    rig.node["metadata"]["labels"].erase(key::state);
                break;
            default:
                for (unsigned i = some(3); i > 0; --i)
                    (void)rig.step();
            }
        }
        rig.policy.mode = UpgradeMode::Controlled;
        rig.policy.version = "580.65.06";
        rig.swap_fails = rig.never_ready = rig.revoked = false;
        rig.driver.ready = true;
        rig.granted = true;
        rig.pods = {Task::State::Done, "", false};
        for (unsigned i = 0; i < 20; ++i)
            rig.wait(3000);
        ASSERT_EQ(rig.state(), "upgrade-done") << "story " << story << ": " << rig.node.dump();
        ASSERT_EQ(rig.driver.running, "580.65.06") << "story " << story;
        ASSERT_FALSE(rig.cordoned()) << "story " << story << ": " << rig.node.dump();
        ASSERT_EQ(rig.annotation(key::was_unschedulable), "") << story;
    }
}

} // namespace
} // namespace gpuhost::cluster
