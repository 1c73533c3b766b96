// SPDX-License-Identifier: Apache-2.0
// The scenarios of NVIDIA's tests of its upgrade controller (k8s-operator-libs, pkg/upgrade), with the result
// here. A row with another result names the entry of gpuhost-policy(5) that describes it.
// tests/source/documented.py compares the two.
#include "daemon/cluster/rollout/admission.hpp"
#include "daemon/cluster/upgrade/pods.hpp"
#include "tests/unit/cluster/upgrade_rig.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace gpuhost::cluster {
namespace {

using base::Json;
using tests::before;
using tests::Rig;
using tests::wanted;
using Given = std::function<void(Rig&)>;
using Texts = std::vector<std::string>;

constexpr const char* safe_load = "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load";

/// Gives the host an upgrade that has just reached `state`.
void put(Rig& rig, const std::string& state) {
    rig.node["metadata"]["labels"][key::state] = state;
    UpgradeRecord record;
    record.state = state_of(state);
    record.version = wanted;
    record.from = before;
    record.since = rig.now;
    record.attempts = 1;
    record.prepared = true;
    record.cordoned = is_under_way(record.state) && record.state != UpgradeState::CordonRequired;
    if (record.cordoned)
        rig.node["spec"]["unschedulable"] = true;
    rig.node["metadata"]["annotations"][key::record] = base::dump(to_json(record));
}

void annotate(Rig& rig, const char* name, const char* value = "true") {
    rig.node["metadata"]["annotations"][name] = value;
}

void nothing(Rig&) {}
void runs_new(Rig& rig) {
    rig.driver.running = wanted;
}
void cordoned(Rig& rig) {
    rig.node["spec"]["unschedulable"] = true;
}

/// One decision about one host.
struct Scenario {
    const char* what; ///< the condition of NVIDIA's test
    const char* from = "";
    Given given = nothing;
    const char* to = "";
    std::optional<bool> cordon = {}; ///< spec.unschedulable afterwards
    Texts events = {};               ///< besides the event of the label
    const char* differs = nullptr;   ///< entry of gpuhost-policy(5) if NVIDIA's result differs
};

const Scenario scenarios[] = {
    {.what = "nothing is known yet", .given = [](Rig& rig) { rig.driver.is_known = false; }},
    {.what = "unknown, out of sync", .to = "upgrade-required"},
    {.what = "unknown, out of sync, and it could not be upgraded",
     .given =
         [](Rig& rig) {
             rig.check = {Task::State::Running, "", false};
         },
     .differs = "Checks"},
    {.what = "done, out of sync", .from = "upgrade-done", .to = "upgrade-required"},
    {.what = "unknown, in sync", .given = runs_new, .to = "upgrade-done"},
    {.what = "done, in sync", .from = "upgrade-done", .given = runs_new, .to = "upgrade-done"},
    {.what = "done, out of sync, cordoned: the annotation is written with cordon-required",
     .from = "upgrade-done",
     .given = cordoned,
     .to = "upgrade-required",
     .cordon = true,
     .differs = "Cordoned hosts"},
    {.what = "cordoned, a slot: what it was is kept",
     .from = "upgrade-required",
     .given = cordoned,
     .to = "cordon-required",
     .cordon = true,
     .events = {"Successfully updated node annotation to "
                "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable=true"}},
    {.what = "in sync, waiting for safe load",
     .from = "upgrade-done",
     .given =
         [](Rig& rig) {
             runs_new(rig);
             annotate(rig, safe_load);
         },
     .to = "upgrade-done",
     .differs = "Safe driver load"},
    {.what = "upgrade requested",
     .from = "upgrade-done",
     .given =
         [](Rig& rig) {
             runs_new(rig);
             annotate(rig, key::requested);
         },
     .to = "upgrade-required",
     .events = {"Successfully updated node annotation to nvidia.com/gpu-driver-upgrade-requested=null"}},
    {.what = "skipped",
     .from = "upgrade-required",
     .given = [](Rig& rig) { rig.node["metadata"]["labels"][key::skip] = "true"; },
     .to = "upgrade-required"},
    {.what = "no slot",
     .from = "upgrade-required",
     .given = [](Rig& rig) { rig.granted = false; },
     .to = "upgrade-required"},
    {.what = "no slot, cordoned",
     .from = "upgrade-required",
     .given =
         [](Rig& rig) {
             rig.granted = false;
             cordoned(rig);
         },
     .to = "upgrade-required",
     .differs = "Cordoned hosts"},
    {.what = "a slot", .from = "upgrade-required", .to = "cordon-required"},
    {.what = "a slot, not ready",
     .from = "upgrade-required",
     .given =
         [](Rig& rig) {
             rig.node["status"]["conditions"] = {{{"type", "Ready"}, {"status", "Unknown"}}};
         },
     .to = "upgrade-required",
     .differs = "Hosts that are not ready"},
    {.what = "cordon, jobs to wait for",
     .from = "cordon-required",
     .given =
         [](Rig& rig) {
             rig.policy.wait_for = Selector::parse("a=b").value();
             rig.policy.wait_timeout = Seconds(7);
         },
     .to = "wait-for-jobs-required",
     .cordon = true,
     .events = {"Successfully updated node annotation to "
                "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time=1800000000"}},
    {.what = "cordon, no jobs",
     .from = "cordon-required",
     .to = "pod-deletion-required",
     .cordon = true,
     .differs = "States without work"},
    {.what = "jobs have ended", .from = "wait-for-jobs-required", .to = "pod-deletion-required"},
    {.what = "jobs run, no timeout",
     .from = "wait-for-jobs-required",
     .given =
         [](Rig& rig) {
             rig.jobs.state = Task::State::Running;
             rig.now += 1'000'000;
         },
     .to = "wait-for-jobs-required",
     .cordon = true},
    {.what = "jobs run, timeout over",
     .from = "wait-for-jobs-required",
     .given =
         [](Rig& rig) {
             rig.jobs.state = Task::State::Running;
             rig.policy.wait_timeout = Seconds(10);
             rig.now += 10;
             annotate(rig, key::wait_began, "1800000000");
         },
     .to = "pod-deletion-required",
     .events = {"Successfully updated node annotation to "
                "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time=null"}},
    {.what = "jobs run, and a DaemonSet's pod holds the driver",
     .from = "wait-for-jobs-required",
     .given =
         [](Rig& rig) {
             rig.jobs = {Task::State::Failed, "default/exporter holds the driver", false};
         },
     .to = "upgrade-failed",
     .cordon = false,
     .differs = "Pods of DaemonSets"},
    {.what = "jobs have ended, pod deletion is off",
     .from = "wait-for-jobs-required",
     .given =
         [](Rig& rig) {
             rig.policy.deletion.enabled = false;
             rig.policy.drain.enabled = true;
         },
     .to = "drain-required",
     .events = {"Scheduling drain of the node"}},
    {.what = "jobs have ended, pod deletion and drain are off",
     .from = "wait-for-jobs-required",
     .given = [](Rig& rig) { rig.policy.deletion.enabled = false; },
     .to = "pod-restart-required",
     .differs = "States without work"},
    {.what = "pod deletion is off by now, drain is on",
     .from = "pod-deletion-required",
     .given =
         [](Rig& rig) {
             rig.policy.deletion.enabled = false;
             rig.policy.drain.enabled = true;
             rig.pods.state = Task::State::Running;
         },
     .to = "drain-required",
     .events = {"Scheduling drain of the node"}},
    {.what = "no pods with GPUs",
     .from = "pod-deletion-required",
     .given = [](Rig& rig) { rig.policy.drain.enabled = true; },
     .to = "pod-restart-required"},
    {.what = "pods have ended",
     .from = "pod-deletion-required",
     .given = [](Rig& rig) { rig.pods.text = "pods have ended"; },
     .to = "pod-restart-required",
     .events = {"Deleted workload pods on the node for the driver upgrade"}},
    {.what = "pods can't be deleted, drain is off",
     .from = "pod-deletion-required",
     .given =
         [](Rig& rig) {
             rig.pods = {Task::State::Failed, "why", false};
         },
     .to = "upgrade-failed",
     .cordon = false,
     .events = {"Failed to delete workload pods on the node for the driver upgrade, why"}},
    {.what = "pods can't be deleted, tries are left",
     .from = "pod-deletion-required",
     .given =
         [](Rig& rig) {
             rig.policy.retries = 1;
             rig.pods = {Task::State::Failed, "why", false};
         },
     .to = "upgrade-required",
     .cordon = false,
     .events = {"Failed to delete workload pods on the node for the driver upgrade, why"},
     .differs = "Failed hosts"},
    {.what = "pods can't be deleted, drain is on",
     .from = "pod-deletion-required",
     .given =
         [](Rig& rig) {
             rig.policy.drain.enabled = true;
             rig.pods = {Task::State::Failed, "why", false};
         },
     .to = "drain-required",
     .events = {"Failed to delete workload pods on the node for the driver upgrade, why",
                "Pod deletion failed but drain is enabled in spec. Will attempt a node drain",
                "Scheduling drain of the node"}},
    {.what = "drain is off by now",
     .from = "drain-required",
     .given = [](Rig& rig) { rig.pods.state = Task::State::Running; },
     .to = "pod-restart-required"},
    {.what = "drain goes on",
     .from = "drain-required",
     .given =
         [](Rig& rig) {
             rig.policy.drain.enabled = true;
             rig.pods.state = Task::State::Running;
         },
     .to = "drain-required",
     .cordon = true},
    {.what = "drained",
     .from = "drain-required",
     .given = [](Rig& rig) { rig.policy.drain.enabled = true; },
     .to = "pod-restart-required",
     .cordon = true,
     .events = {"Successfully drained the node"}},
    {.what = "the drain fails",
     .from = "drain-required",
     .given =
         [](Rig& rig) {
             rig.policy.drain.enabled = true;
             rig.pods = {Task::State::Failed, "why", false};
         },
     .to = "upgrade-failed",
     .events = {"Failed to drain the node, why"}},
    {.what = "driver out of sync", .from = "pod-restart-required", .to = "pod-restart-required"},
    {.what = "driver in sync and ready",
     .from = "pod-restart-required",
     .given = runs_new,
     .to = "validation-required",
     .events = {"Successfully updated node annotation to "
                "nvidia.com/gpu-driver-upgrade-validation-start-time=1800000000"}},
    {.what = "driver in sync, restarts and never gets ready",
     .from = "pod-restart-required",
     .given =
         [](Rig& rig) {
             rig.swap = {Task::State::Failed, "restarts", true};
             rig.driver.ready = false;
         },
     .to = "upgrade-failed",
     .cordon = true},
    {.what = "driver never gets in sync",
     .from = "pod-restart-required",
     .given =
         [](Rig& rig) {
             rig.driver.ready = false;
             rig.now += 1200;
         },
     .to = "upgrade-failed",
     .differs = "Driver containers"},
    {.what = "validation is not ready, in time",
     .from = "validation-required",
     .given =
         [](Rig& rig) {
             runs_new(rig);
             rig.validators.state = Task::State::Running;
         },
     .to = "validation-required"},
    {.what = "validation is not ready, timeout over",
     .from = "validation-required",
     .given =
         [](Rig& rig) {
             runs_new(rig);
             rig.validators.state = Task::State::Running;
             rig.policy.rollback = false;
             rig.now += 600;
         },
     .to = "upgrade-failed"},
    {.what = "validation is not ready, timeout over, and there is a driver to go back to",
     .from = "validation-required",
     .given =
         [](Rig& rig) {
             runs_new(rig);
             rig.validators.state = Task::State::Running;
             rig.now += 600;
         },
     .to = "validation-required",
     .differs = "Validation"},
    {.what = "validation is done",
     .from = "validation-required",
     .given =
         [](Rig& rig) {
             runs_new(rig);
             annotate(rig, key::validation_began, "1800000000");
         },
     .to = "uncordon-required",
     .events = {"Successfully updated node annotation to "
                "nvidia.com/gpu-driver-upgrade-validation-start-time=null"}},
    {.what = "validation is done, was cordoned",
     .from = "validation-required",
     .given =
         [](Rig& rig) {
             runs_new(rig);
             annotate(rig, key::was_unschedulable);
         },
     .to = "upgrade-done",
     .events = {"Successfully updated node annotation to "
                "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable=null"}},
    {.what = "uncordon",
     .from = "uncordon-required",
     .given = runs_new,
     .to = "upgrade-done",
     .cordon = false},
    {.what = "failed, in sync and ready", .from = "upgrade-failed", .given = runs_new, .to = "upgrade-done"},
    {.what = "failed, in sync and ready, never validated",
     .from = "upgrade-failed",
     .given =
         [](Rig& rig) {
             runs_new(rig);
             rig.validators.state = Task::State::Running;
         },
     .to = "upgrade-failed",
     .differs = "Failed hosts"},
    {.what = "failed, out of sync", .from = "upgrade-failed", .to = "upgrade-failed"},
    {.what = "node-maintenance-required",
     .given = [](Rig& rig) { rig.node["metadata"]["labels"][key::state] = "node-maintenance-required"; },
     .to = "upgrade-required",
     .differs = "Requestor mode"},
    {.what = "a person has set a state, no slot",
     .given =
         [](Rig& rig) {
             rig.granted = false;
             rig.node["metadata"]["labels"][key::state] = "pod-restart-required";
         },
     .to = "upgrade-required",
     .differs = "States set by hand"},
    {.what = "autoUpgrade is off by now",
     .from = "pod-deletion-required",
     .given =
         [](Rig& rig) {
             rig.policy.mode = UpgradeMode::OnRequest;
             rig.pods.state = Task::State::Running;
         },
     .to = "",
     .cordon = false,
     .differs = "Pausing"},
};

TEST(OperatorScenarios, HostStateEqualsTheOperatorsResult) {
    for (const Scenario& row : scenarios) {
        SCOPED_TRACE(std::string(row.from) + ", " + row.what);
        Rig rig;
        rig.policy.retries = 0;
        if (*row.from != '\0')
            put(rig, row.from);
        row.given(rig);
        (void)rig.step();
        EXPECT_EQ(rig.state(), row.to);
        EXPECT_EQ(rig.cordoned(), row.cordon.value_or(rig.cordoned()));
        Texts events = rig.told;
        events.erase(std::remove(events.begin(), events.end(),
                                 "Successfully updated node state label to " + std::string(row.to)),
                     events.end());
        EXPECT_EQ(events, row.events);
    }
}

TEST(OperatorScenarios, RefusedWriteGivesAnEventPerPart) {
    Rig rig;
    put(rig, "cordon-required");
    rig.policy.wait_for = Selector::parse("a=b").value();
    rig.policy.wait_timeout = Seconds(7);
    EXPECT_EQ(upgrade_patch(rig.node, next_decision(rig.situation())).failures,
              (Texts{"Failed to update node state label to wait-for-jobs-required, ",
                     "Failed to update node annotation "
                     "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time=1800000000: ",
                     "Failed to cordon the node, "}));
}

/// A fleet, and the number of its hosts that start to upgrade.
struct Slots {
    const char* what;
    unsigned required = 0;
    unsigned required_cordoned = 0;
    unsigned under_way = 0; ///< hosts in cordon-required
    unsigned done_cordoned = 0;
    unsigned failed = 0;
    unsigned parallel = 0;
    CountOrShare unavailable{100, true};
    bool all = false; ///< countUnavailable
    unsigned begin = 0;
    const char* differs = nullptr;
};

const Slots slots[] = {
    {.what = "parallel 0", .required = 5, .begin = 5},
    {.what = "parallel 3", .required = 5, .parallel = 3, .begin = 3},
    {.what = "2 required, 3 begun, parallel 4", .required = 2, .under_way = 3, .parallel = 4, .begin = 1},
    {.what = "5 of which 2 are cordoned, 100 %", .required = 3, .required_cordoned = 2, .begin = 5},
    {.what = "5 of which 2 are cordoned, 50 %, counted as there",
     .required = 3,
     .required_cordoned = 2,
     .unavailable = {50, true},
     .all = true,
     .begin = 3},
    {.what = "5 of which 2 are cordoned, 50 %",
     .required = 3,
     .required_cordoned = 2,
     .unavailable = {50, true},
     .begin = 4,
     .differs = "Unavailable hosts"},
    {.what = "3 required, 2 cordoned and done, 50 %, counted as there",
     .required = 3,
     .done_cordoned = 2,
     .unavailable = {50, true},
     .all = true,
     .begin = 1},
    {.what = "parallel 3, maxUnavailable 2",
     .required = 5,
     .parallel = 3,
     .unavailable = {2, false},
     .begin = 2},
    {.what = "1 required, 3 begun, parallel 4, maxUnavailable 4",
     .required = 1,
     .under_way = 3,
     .parallel = 4,
     .unavailable = {4, false},
     .begin = 1},
    {.what = "a failed host, parallel 1",
     .required = 2,
     .failed = 1,
     .parallel = 1,
     .begin = 1,
     .differs = "Failed hosts"},
};

struct Site {
    Policy policy;
    Fleet fleet;

    explicit Site(const Slots& row) {
        UpgradePolicy upgrade;
        upgrade.version = wanted;
        upgrade.mode = UpgradeMode::Controlled;
        upgrade.max_parallel = row.parallel;
        upgrade.max_unavailable = row.unavailable;
        upgrade.count_all_unavailable = row.all;
        upgrade.failure_budget = {100, true};
        policy.pools.push_back({"default", Selector(), upgrade});
        add(row.required, UpgradeState::UpgradeRequired, false);
        add(row.required_cordoned, UpgradeState::UpgradeRequired, true);
        add(row.done_cordoned, UpgradeState::UpgradeDone, true);
        add(row.failed, UpgradeState::UpgradeFailed, false);
        add(row.under_way, UpgradeState::CordonRequired, false);
    }

    void add(unsigned count, UpgradeState state, bool unschedulable) {
        for (unsigned left = count; left > 0; --left) {
            UpgradeNode node;
            node.name = "n" + std::to_string(100 + fleet.hosts.size());
            node.uid = node.name;
            node.state = node.record.state = state;
            node.record.version = wanted;
            node.record.prepared = true;
            node.unschedulable = unschedulable;
            if (is_under_way(state))
                fleet.grants[node.name] = {node.name, node.uid, Seconds(0), Seconds(300)};
            fleet.hosts[node.name] = place(node, {}, policy);
        }
    }
};

TEST(OperatorScenarios, AdmitsAsManyHostsAsTheOperator) {
    for (const Slots& row : slots) {
        SCOPED_TRACE(row.what);
        const Site site(row);
        EXPECT_EQ(admit(site.fleet, site.policy, {}, 1'800'000'000).admit.size(), row.begin);
    }
}

/// One pod on a node whose pods with GPUs are evicted.
struct Eviction {
    enum class End { Leaves, Stays, Refuses };
    const char* what;
    std::function<void(Json&)> pod = [](Json&) {};
    bool force = false;
    bool empty_dir = false; ///< deleteEmptyDir
    bool holds = false;     ///< the driver
    End end = End::Leaves;
    const char* differs = nullptr;
};

void standalone(Json& pod) {
    pod["metadata"].erase("ownerReferences");
}
void with_empty_dir(Json& pod) {
    standalone(pod);
    pod["spec"]["volumes"] = {{{"name", "x"}, {"emptyDir", Json::object()}}};
}
void of_daemon_set(Json& pod) {
    pod["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet";
}
void without_gpu(Json& pod) {
    pod["spec"]["containers"][0].erase("resources");
}

const Eviction evictions[] = {
    {.what = "standalone, force", .pod = standalone, .force = true},
    {.what = "standalone, no force", .pod = standalone, .end = Eviction::End::Refuses},
    {.what = "emptyDir, force, deleteEmptyDir", .pod = with_empty_dir, .force = true, .empty_dir = true},
    {.what = "emptyDir, force", .pod = with_empty_dir, .force = true, .end = Eviction::End::Refuses},
    {.what = "MIG",
     .pod =
         [](Json& pod) {
             pod["spec"]["containers"][0]["resources"] = {{"limits", {{"nvidia.com/mig-1g.5gb", "1"}}}};
         }},
    {.what = "CPU only", .pod = without_gpu, .end = Eviction::End::Stays},
    {.what = "a GPU in an init container alone",
     .pod =
         [](Json& pod) {
             pod["spec"]["initContainers"] = pod["spec"]["containers"];
             without_gpu(pod);
         },
     .differs = "Pods with a GPU"},
    {.what = "CPU only, holds the driver", .pod = without_gpu, .holds = true, .differs = "Pods with a GPU"},
    {.what = "DaemonSet, asks for a GPU",
     .pod = of_daemon_set,
     .end = Eviction::End::Stays,
     .differs = "Pods of DaemonSets"},
    {.what = "DaemonSet, holds the driver",
     .pod = of_daemon_set,
     .holds = true,
     .end = Eviction::End::Refuses},
};

TEST(OperatorScenarios, EvictsTheSamePodsAsTheOperator) {
    for (const Eviction& row : evictions) {
        SCOPED_TRACE(row.what);
        Json pod = {
            {"metadata",
             {{"name", "pod"},
              {"uid", "pod"},
              {"ownerReferences", {{{"kind", "ReplicaSet"}, {"controller", true}}}}}},
            {"spec",
             {{"containers", {{{"name", "main"}, {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}},
            {"status", {{"phase", "Running"}}}};
        row.pod(pod);
        PodFacts facts = pod_facts(pod);
        facts.holds_driver = row.holds;
        facts.uses_gpu = facts.uses_gpu || row.holds;
        UpgradePolicy policy;
        policy.deletion.force = row.force;
        policy.deletion.delete_empty_dir = row.empty_dir;
        const PodChoice choice = choose_pods({{"pod", facts}}, UpgradeAct::DeletePods, policy);
        EXPECT_EQ(choice.leave.size(), row.end == Eviction::End::Leaves ? 1U : 0U);
        EXPECT_EQ(choice.refuse.size(), row.end == Eviction::End::Refuses ? 1U : 0U);
    }
}

} // namespace
} // namespace gpuhost::cluster
