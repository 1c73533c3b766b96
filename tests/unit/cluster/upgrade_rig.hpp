// SPDX-License-Identifier: Apache-2.0
// Simulates the upgrade of one host step by step, with faults.
#pragma once

#include "daemon/cluster/upgrade/patch.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gpuhost::cluster::tests {

using base::Json;

inline constexpr const char* before = "535.216.01";
inline constexpr const char* wanted = "550.163.01";

/// A host and its Node. Each step forgets everything that is not on the Node, as a restart of gpuhost-cluster
/// does.
struct Rig {
    UpgradePolicy policy;
    Json node = {
        {"metadata", {{"name", "a"}, {"uid", "u"}, {"resourceVersion", "1"}, {"labels", Json::object()}}},
        {"spec", Json::object()}};
    HostDriver driver;
    Task check{Task::State::Done, "", false};
    Task jobs{Task::State::Done, "", false};
    Task pods{Task::State::Done, "", false};
    Task validators{Task::State::Done, "", false};
    Task swap;
    bool granted = true;
    bool revoked = false;
    std::string policy_problem;
    bool swap_fails = false;
    bool swap_hangs = false; ///< the test sets its state
    bool needs_reboot = false;
    bool never_ready = false; ///< with the wanted version
    std::int64_t now = 1'800'000'000;
    std::vector<std::string> path; ///< states of the Node so far
    std::vector<std::string> told;
    unsigned swaps = 0;
    unsigned reboots = 0;

    Rig() {
        driver.is_known = driver.has_gpus = driver.ready = true;
        driver.running = before;
        driver.boot = "boot1";
        policy.version = wanted;
        policy.mode = UpgradeMode::Controlled;
        policy.retry_delay = Seconds(60);
        policy.swap_timeout = Seconds(1200);
        policy.validation_timeout = Seconds(600);
        policy.deletion.timeout = Seconds(300);
        policy.drain.enabled = false;
    }

    [[nodiscard]] UpgradeInput situation() const {
        UpgradeInput at;
        at.node = upgrade_node(node);
        at.labels = labels_of(node);
        at.policy = &policy;
        at.policy_problem = policy_problem;
        at.driver = driver;
        at.granted = granted;
        at.revoked = revoked;
        at.check = check;
        at.jobs = jobs;
        at.pods = pods;
        at.swap = swap;
        at.validators = validators;
        at.now = now;
        return at;
    }

    [[nodiscard]] std::string state() const {
        return base::string_or(node["metadata"]["labels"], key::state, "");
    }
    /// Returns when the next decision changes without another event.
    [[nodiscard]] std::optional<std::int64_t> due() const { return next_decision(situation()).due; }
    [[nodiscard]] bool cordoned() const { return base::bool_or(node["spec"], "unschedulable", false); }
    [[nodiscard]] std::string annotation(const char* name) const {
        return base::string_or(base::member(node["metadata"], "annotations"), name, "");
    }

    /// Returns false if there is nothing to do but wait.
    bool step() {
        const UpgradeDecision move = next_decision(situation());
        const UpgradePatch patch = upgrade_patch(node, move);
        if (!patch.node.body.is_null()) {
            if (state() != std::string(state_name(move.state)))
                swap = {};
            node.merge_patch(patch.node.body);
            for (const auto* events : {&move.events, &patch.events})
                for (const UpgradeEvent& event : *events)
                    told.push_back(event.message);
            if (path.empty() || path.back() != state())
                path.push_back(state());
            return true;
        }
        if (move.act == UpgradeAct::Reboot) {
            ++reboots;
            driver.boot += "+";
            driver.reboot_required = needs_reboot && reboots > 5;
            driver.running = move.record.version;
            driver.ready = true;
            return true;
        }
        if (move.act != UpgradeAct::Swap && move.act != UpgradeAct::RollBack)
            return false;
        if (swap.state != Task::State::None)
            return false;
        ++swaps;
        if (swap_hangs)
            return false;
        if (needs_reboot) {
            driver.reboot_required = true;
            driver.ready = false;
            driver.problem = "the module does not unload";
            swap = {Task::State::Done, "", false};
        } else if (swap_fails) {
            swap = {Task::State::Failed, "the kernel refused the module", false};
        } else {
            const bool back = move.act == UpgradeAct::RollBack;
            driver.running = back ? move.record.from : move.record.version;
            driver.ready = back || !never_ready;
            driver.problem = driver.ready ? "" : "its devices are not there";
            swap = {Task::State::Done, "", false};
        }
        return true;
    }

    void settle() {
        for (unsigned left = 100; left > 0 && step(); --left)
            ASSERT_GT(left, 1U) << "the states repeat: " << state();
    }
    void wait(std::int64_t seconds) {
        now += seconds;
        settle();
    }
};

} // namespace gpuhost::cluster::tests
