// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/upgrade/pod_mover.hpp"
#include "tests/support/simulated_server.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;
using gpuhost::tests::SimulatedServer;
using gpuhost::tests::TempDir;
using std::chrono::seconds;

class PodMoverTest : public ::testing::Test {
  protected:
    PodMoverTest() {
        dir.write("etc/k.conf", tests::kubeconfig(tests::cluster_members("https://api")));
        api.emplace(Api::open(root, "/etc/k.conf").value());
        policy.validation_timeout = Seconds(600);
    }

    static std::string path_of(const std::string& name) { return "/api/v1/pods/" + name; }
    void put(const std::string& name, bool ready, const char* app = "train") {
        server.put(path_of(name),
                   {{"metadata",
                     {{"name", name},
                      {"namespace", "default"},
                      {"labels", {{"app", app}}},
                      {"ownerReferences", {{{"kind", "ReplicaSet"}, {"controller", true}}}}}},
                    {"spec", {{"nodeName", "gpu01"}}},
                    {"status",
                     {{"phase", "Running"}, {"containerStatuses", {{{"name", "main"}, {"ready", ready}}}}}}});
    }
    void patch(const std::string& name, const Json& with) { ASSERT_TRUE(server.patch(path_of(name), with)); }
    /// Puts a pod of a DaemonSet with that label in its nodeSelector.
    void put_daemon(const std::string& name, const char* label) {
        put(name, true);
        patch(name, {{"metadata", {{"ownerReferences", {{{"kind", "DaemonSet"}, {"controller", true}}}}}},
                     {"spec", {{"nodeSelector", {{label, "true"}}}}}});
    }
    [[nodiscard]] static std::string after_now(seconds time) {
        return kube_time(base::realtime_us() + static_cast<std::uint64_t>(time.count()) * 1'000'000);
    }
    [[nodiscard]] bool is_asked_to_leave(const std::string& name) const {
        return server.find("/api/v1/namespaces/default/pods/" + name + "/eviction/" + name) != nullptr;
    }
    /// Returns the pod's uid as processes have it: that of a static pod differs from its mirror's.
    static std::string uid_on_host(const Json& metadata) {
        return base::string_or(base::member(metadata, "annotations"), "kubernetes.io/config.hash",
                               base::string_or(metadata, "uid", ""));
    }
    void begin(UpgradeAct act, seconds ago = seconds(0)) {
        mover.be_at(act, &policy, static_cast<std::int64_t>(base::realtime_us() / 1'000'000) - ago.count());
    }
    void tell_holders() {
        std::set<std::string> uids;
        for (const std::string& name : holders)
            if (const Json* const pod = server.find(path_of(name)))
                uids.insert(uid_on_host((*pod)["metadata"]));
        mover.found(std::move(uids));
    }
    Task after(UpgradeAct act, seconds time) {
        const auto end = server.now() + std::chrono::milliseconds(time);
        while (server.now() < end) {
            if (std::exchange(lends, false)) {
                lent = true;
                mover.reopen();
            }
            mover.turn();
            const auto next = std::min(server.next().value_or(end), mover.due().value_or(end));
            server.advance(std::clamp(next, server.now() + Time(1), end));
            api->work();
        }
        mover.turn();
        return mover.task(act);
    }

    SimulatedServer server{1};
    TempDir dir;
    base::Root root = base::Root::open(dir.path()).value();
    std::optional<Api> api;
    UpgradePolicy policy;
    std::set<std::string> holders; ///< pods by their names
    unsigned looks = 0;
    bool is_busy = false; ///< the daemon runs another operation
    bool is_slow = false; ///< the daemon does not answer until tell_holders()
    unsigned opened = 0;  ///< how often the kubelet's credentials were opened
    bool lends = false;   ///< the daemon was asked for the credentials
    bool lent = false;
    unsigned client = 0; ///< network of the next credentials
    PodMover mover{"gpu01",
                   [this]() -> base::Result<Api*> {
                       if (!std::exchange(lent, false)) {
                           lends = true;
                           return base::fail(base::Errc::Busy, "asks gpuhostd for the credentials");
                       }
                       ++opened;
                       server.enter(client);
                       api.emplace(Api::open(root, "/etc/k.conf").value());
                       return &*api;
                   },
                   [this] {
                       ++looks;
                       if (is_busy)
                           return mover.found(base::fail(base::Errc::Busy, "operation 3 runs"));
                       if (!is_slow)
                           tell_holders();
                   },
                   [](const std::string&) {}};
};

TEST_F(PodMoverTest, ValidationWaitsUntilTheValidatorIsReady) {
    begin(UpgradeAct::Validate);
    Task task = after(UpgradeAct::Validate, seconds(20));
    EXPECT_EQ(task.state, Task::State::Running) << "its DaemonSet has not created it yet";
    EXPECT_NE(task.text.find("nvidia-operator-validator"), std::string::npos) << task.text;
    put("validator", false, "nvidia-operator-validator");
    task = after(UpgradeAct::Validate, seconds(60));
    EXPECT_EQ(task.state, Task::State::Running);
    EXPECT_EQ(task.text, "default/validator");
    ASSERT_TRUE(server.patch(path_of("validator"),
                             {{"status", {{"containerStatuses", {{{"name", "main"}, {"ready", true}}}}}}}));
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(3)).state, Task::State::Done);
}

TEST_F(PodMoverTest, MissingValidatorIsAwaitedForHalfAMinute) {
    put("other", false);
    begin(UpgradeAct::Validate);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(28)).state, Task::State::Running);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(4)).state, Task::State::Done);
}

TEST_F(PodMoverTest, EvictsHoldersAndPodsThatBecomeHolders) {
    for (const char* name : {"holds", "comes", "idle"})
        put(name, true);
    holders = {"holds"};
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(3)).text, "default/holds");
    EXPECT_TRUE(is_asked_to_leave("holds"));
    holders = {"comes"};
    server.remove(path_of("holds"));
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(3)).text, "default/comes");
    EXPECT_TRUE(is_asked_to_leave("comes"));
    holders.clear();
    server.remove(path_of("comes"));
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(3)).state, Task::State::Done);
    EXPECT_FALSE(is_asked_to_leave("idle"));
    EXPECT_EQ(looks, 3U);
}

TEST_F(PodMoverTest, TerminatingValidatorDoesNotCount) {
    put("validator", true, "nvidia-operator-validator");
    (void)server.patch(path_of("validator"), {{"metadata", {{"deletionTimestamp", "2027-01-15T08:00:00Z"}}}});
    begin(UpgradeAct::Validate);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(20)).state, Task::State::Running);
}

TEST_F(PodMoverTest, ValidationTimeoutLimitsTheWait) {
    policy.validation_timeout = Seconds(20);
    begin(UpgradeAct::Validate);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(13)).state, Task::State::Done);
}

TEST_F(PodMoverTest, BusyHostFailsTheTaskAtTheTimeout) {
    policy.deletion.timeout = Seconds(60);
    put("holds", true);
    holders = {"holds"};
    begin(UpgradeAct::DeletePods);
    (void)after(UpgradeAct::DeletePods, seconds(3));
    is_busy = true;
    server.remove(path_of("holds"));
    Task task = after(UpgradeAct::DeletePods, seconds(30));
    EXPECT_EQ(task.state, Task::State::Running);
    EXPECT_NE(task.text.find("operation 3 runs"), std::string::npos) << task.text;
    task = after(UpgradeAct::DeletePods, seconds(40));
    EXPECT_EQ(task.state, Task::State::Failed);
    EXPECT_NE(task.text.find("operation 3 runs"), std::string::npos) << task.text;
}

TEST_F(PodMoverTest, HoldersFoundAfterTheEndAreIgnored) {
    put("idle", true);
    is_busy = true;
    begin(UpgradeAct::DeletePods);
    (void)after(UpgradeAct::DeletePods, seconds(3));
    mover.be_at(UpgradeAct::None, nullptr, 0);
    const unsigned before = opened;
    mover.found(std::set<std::string>());
    (void)after(UpgradeAct::None, seconds(60));
    EXPECT_EQ(opened, before);
    EXPECT_FALSE(mover.due().has_value());
}

TEST_F(PodMoverTest, UnevictableHolderFailsTheTask) {
    put("holds", true);
    (void)server.patch(path_of("holds"),
                       {{"spec", {{"volumes", {{{"name", "x"}, {"emptyDir", Json::object()}}}}}}});
    holders = {"holds"};
    begin(UpgradeAct::DeletePods);
    const Task task = after(UpgradeAct::DeletePods, seconds(3));
    EXPECT_EQ(task.state, Task::State::Failed);
    EXPECT_NE(task.text.find("default/holds has an emptyDir"), std::string::npos) << task.text;
}

TEST_F(PodMoverTest, WithoutHoldersTheHostIsQueriedOnce) {
    put("idle", true);
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(3)).state, Task::State::Done);
    EXPECT_EQ(looks, 1U);
}

TEST_F(PodMoverTest, DeletedPodIsNotConfusedWithItsNamesake) {
    policy.deletion.timeout = Seconds(600);
    put("web", true);
    put("other-web", true);
    (void)server.patch(path_of("other-web"), {{"metadata", {{"name", "web"}, {"namespace", "other"}}}});
    holders = {"web", "other-web"};
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(3)).state, Task::State::Running);
    server.cut(0, seconds(20), false); // the watch misses the next events
    (void)after(UpgradeAct::DeletePods, seconds(1));
    server.remove(path_of("other-web"));
    server.forget();
    const Task task = after(UpgradeAct::DeletePods, seconds(120));
    EXPECT_EQ(task.state, Task::State::Running);
    EXPECT_EQ(task.text.find("other/web"), std::string::npos) << task.text;
    EXPECT_EQ(task.text.find("default/web"), 0U) << task.text;
}

TEST_F(PodMoverTest, PolicyChangesDoNotAffectARunningTask) {
    put("holds", true);
    holders = {"holds"};
    policy.deletion.timeout = Seconds(30);
    begin(UpgradeAct::DeletePods);
    policy = UpgradePolicy(); // the caller's policy may change
    const Task task = after(UpgradeAct::DeletePods, seconds(40));
    EXPECT_EQ(task.state, Task::State::Failed);
    EXPECT_NE(task.text.find("did not end within 30 s"), std::string::npos) << task.text;
}

TEST_F(PodMoverTest, RefusedCredentialsAreReadAgainWhileJobsRun) {
    policy.wait_for = Selector::parse("app=train").value();
    put("train", true);
    begin(UpgradeAct::WaitForJobs);
    EXPECT_EQ(after(UpgradeAct::WaitForJobs, seconds(3)).text, "default/train");
    server.cut(0, std::chrono::hours(12), false);
    const Task task = after(UpgradeAct::WaitForJobs, seconds(60));
    EXPECT_EQ(task.state, Task::State::Running);
    EXPECT_EQ(task.text.find("can't watch this node's pods"), 0U) << task.text;
    EXPECT_GT(opened, 1U);
    EXPECT_LT(opened, 20U) << "the delay grows with each attempt";
    client = 1; // the kubelet renewed its certificate
    patch("train", {{"status", {{"phase", "Succeeded"}}}});
    EXPECT_EQ(after(UpgradeAct::WaitForJobs, seconds(60)).state, Task::State::Done);
}

TEST_F(PodMoverTest, DaemonSetHolderFailsTheTask) {
    put("holds", true);
    put_daemon("exporter", "example.com/gpu");
    holders = {"holds", "exporter"};
    policy.wait_for = Selector::parse("app=train").value();
    for (const UpgradeAct act : {UpgradeAct::WaitForJobs, UpgradeAct::DeletePods, UpgradeAct::Drain}) {
        begin(act);
        const Task task = after(act, seconds(10));
        EXPECT_EQ(task.state, Task::State::Failed);
        EXPECT_EQ(task.text.find("default/exporter holds the driver"), 0U) << task.text;
        EXPECT_FALSE(is_asked_to_leave("holds"));
    }
}

TEST_F(PodMoverTest, StaticPodHolderFailsTheTask) {
    put("holds", true);
    put("static", true);
    patch("static", {{"metadata",
                      {{"annotations",
                        {{"kubernetes.io/config.mirror", "0123456789abcdef0123456789abcdef"},
                         {"kubernetes.io/config.hash", "0123456789abcdef0123456789abcdef"}}}}}});
    holders = {"holds", "static"};
    begin(UpgradeAct::DeletePods);
    const Task task = after(UpgradeAct::DeletePods, seconds(10));
    EXPECT_EQ(task.state, Task::State::Failed);
    EXPECT_EQ(task.text.find("default/static holds the driver"), 0U) << task.text;
    EXPECT_FALSE(is_asked_to_leave("holds"));
}

TEST_F(PodMoverTest, PausedDaemonSetHolderIsIgnored) {
    put_daemon("exporter", "nvidia.com/gpu.deploy.client");
    put_daemon("idle", "example.com/gpu");
    holders = {"exporter"};
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(10)).state, Task::State::Done);
}

TEST_F(PodMoverTest, QueryRunningAtTheTimeoutIsAwaited) {
    policy.deletion.timeout = Seconds(60);
    put("holds", true);
    holders = {"holds"};
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(55)).state, Task::State::Running);
    is_slow = true;
    server.remove(path_of("holds"));
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(15)).state, Task::State::Running);
    tell_holders();
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(3)).state, Task::State::Done);
}

TEST_F(PodMoverTest, RestartAfterTheTimeoutQueriesFirst) {
    policy.deletion.timeout = Seconds(60);
    for (const char* name : {"idle", "other"})
        put(name, true);
    begin(UpgradeAct::DeletePods, seconds(90));
    EXPECT_EQ(mover.task(UpgradeAct::DeletePods).state, Task::State::Running);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(3)).state, Task::State::Done);
}

TEST_F(PodMoverTest, MissingCredentialsFailTheTaskAtTheTimeout) {
    policy.deletion.timeout = Seconds(60);
    PodMover other{"gpu01",
                   []() -> base::Result<Api*> { return base::fail(base::Errc::NotFound, "no kubeconfig"); },
                   [] {}, [](const std::string&) {}};
    other.be_at(UpgradeAct::DeletePods, &policy, static_cast<std::int64_t>(base::realtime_us() / 1'000'000));
    const auto end = server.now() + seconds(120);
    while (server.now() < end && other.due()) {
        server.advance(std::clamp(*other.due(), server.now() + Time(1), end));
        other.turn();
    }
    other.reopen();
    EXPECT_EQ(other.task(UpgradeAct::DeletePods).state, Task::State::Failed);
    EXPECT_EQ(other.task(UpgradeAct::DeletePods).text, "no kubeconfig");
    EXPECT_FALSE(other.due().has_value());
}

/// Counts deletions, and those with a grace period of zero.
class OverriddenBudgets : public PodMoverTest {
  protected:
    OverriddenBudgets() {
        policy.override_pdb = true;
        policy.deletion.timeout = Seconds(60);
        server.hold = [this](const http::Request& request) {
            if (request.method == "DELETE") {
                ++deletions;
                kills += request.body.find("gracePeriodSeconds") == std::string::npos ? 0 : 1;
            }
            return Time(0);
        };
        put("holds", true);
        holders = {"holds"};
    }
    unsigned deletions = 0;
    unsigned kills = 0; ///< deletions with a grace period of zero
};

TEST_F(OverriddenBudgets, TerminatingPodKeepsItsGracePeriod) {
    patch("holds", {{"metadata", {{"deletionTimestamp", after_now(seconds(200))}}}});
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(195)).state, Task::State::Running);
    EXPECT_EQ(kills, 0U);
    (void)after(UpgradeAct::DeletePods, seconds(45));
    EXPECT_GT(kills, 0U) << "its grace period is over";
}

TEST_F(OverriddenBudgets, PodThatNeverLeavesFailsTheTask) {
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(55)).state, Task::State::Running);
    EXPECT_EQ(deletions, 0U);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(50)).state, Task::State::Running);
    EXPECT_GT(deletions, 0U);
    EXPECT_EQ(kills, 0U);
    const Task task = after(UpgradeAct::DeletePods, seconds(30));
    EXPECT_EQ(task.state, Task::State::Failed);
    EXPECT_EQ(task.text, "these pods did not end within 120 s: default/holds");
}

TEST_F(OverriddenBudgets, TaskIsDoneWhenTheDeletedPodLeft) {
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(70)).state, Task::State::Running);
    EXPECT_GT(deletions, 0U);
    server.remove(path_of("holds"));
    const Task task = after(UpgradeAct::DeletePods, seconds(20));
    EXPECT_EQ(task.state, Task::State::Done) << task.text;
}

TEST_F(OverriddenBudgets, BrokenConnectionDoesNotFailBeforeTheTimeout) {
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(70)).state, Task::State::Running);
    server.cut(0, seconds(3), false);
    const Task task = after(UpgradeAct::DeletePods, seconds(20));
    EXPECT_EQ(task.state, Task::State::Running) << task.text;
    EXPECT_EQ(task.text, "default/holds");
}

TEST_F(OverriddenBudgets, BrokenConnectionKeepsThePodsGracePeriod) {
    patch("holds", {{"metadata", {{"deletionTimestamp", after_now(seconds(200))}}}});
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(150)).state, Task::State::Running);
    server.cut(0, seconds(3), false);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(20)).state, Task::State::Running);
    server.cut(0, std::chrono::hours(1), false);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(120)).state, Task::State::Failed);
}

TEST_F(PodMoverTest, ValidatorOfThePreviousDriverIsDeleted) {
    put("validator", true, "nvidia-operator-validator");
    patch("validator", {{"status", {{"startTime", after_now(seconds(-60))}}}});
    begin(UpgradeAct::Validate);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(60)).state, Task::State::Running);
    EXPECT_TRUE(is_asked_to_leave("validator"));
    server.remove(path_of("validator"));
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(60)).state, Task::State::Running)
        << "the deleted validator will be replaced";
    put("another", true, "nvidia-operator-validator");
    patch("another", {{"status", {{"startTime", after_now(seconds(0))}}}});
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(3)).state, Task::State::Done);
    EXPECT_FALSE(is_asked_to_leave("another"));
}

TEST_F(PodMoverTest, WithOperandsTheValidatorHasFiveMinutes) {
    put_daemon("toolkit", "nvidia.com/gpu.deploy.container-toolkit");
    begin(UpgradeAct::Validate);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(295)).state, Task::State::Running);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(10)).state, Task::State::Done);
}

} // namespace
} // namespace gpuhost::cluster
