// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/cluster/pod_mover.hpp"
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
    [[nodiscard]] bool is_asked_to_leave(const std::string& name) const {
        return server.find("/api/v1/namespaces/default/pods/" + name + "/eviction/" + name) != nullptr;
    }
    void begin(UpgradeAct act) {
        mover.be_at(act, &policy, static_cast<std::int64_t>(base::realtime_us() / 1'000'000));
    }
    Task after(UpgradeAct act, seconds time) {
        const auto end = server.now() + std::chrono::milliseconds(time);
        while (server.now() < end) {
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
    bool is_busy = false; ///< the daemon, with something else
    unsigned opened = 0;  ///< the kubelet's credentials
    PodMover mover{"gpu01",
                   [this] {
                       ++opened;
                       return base::Result<Api*>(&*api);
                   },
                   [this] {
                       ++looks;
                       if (is_busy)
                           return mover.found(base::fail(base::Errc::Busy, "operation 3 runs"));
                       std::set<std::string> uids;
                       for (const std::string& name : holders)
                           if (const Json* const pod = server.find(path_of(name)))
                               uids.insert((*pod)["metadata"]["uid"]);
                       mover.found(std::move(uids));
                   },
                   [](const std::string&) {}};
};

TEST_F(PodMoverTest, AValidatorIsWaitedForUntilItIsThereAndReady) {
    begin(UpgradeAct::Validate);
    Task task = after(UpgradeAct::Validate, seconds(20));
    EXPECT_EQ(task.state, Task::State::Running) << "its DaemonSet has yet to make it";
    EXPECT_NE(task.text.find("nvidia-operator-validator"), std::string::npos) << task.text;
    put("validator", false, "nvidia-operator-validator");
    task = after(UpgradeAct::Validate, seconds(60));
    EXPECT_EQ(task.state, Task::State::Running);
    EXPECT_EQ(task.text, "default/validator");
    ASSERT_TRUE(server.patch(path_of("validator"),
                             {{"status", {{"containerStatuses", {{{"name", "main"}, {"ready", true}}}}}}}));
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(3)).state, Task::State::Done);
}

TEST_F(PodMoverTest, AValidatorThatNeverComesHoldsNothingUp) {
    put("other", false);
    begin(UpgradeAct::Validate);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(28)).state, Task::State::Running);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(4)).state, Task::State::Done);
}

TEST_F(PodMoverTest, WhoeverHoldsTheDriverLeavesAndWhoComesMeanwhileToo) {
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

TEST_F(PodMoverTest, AValidatorThatEndsIsNotTheNextOne) {
    put("validator", true, "nvidia-operator-validator");
    (void)server.patch(path_of("validator"), {{"metadata", {{"deletionTimestamp", "2027-01-15T08:00:00Z"}}}});
    begin(UpgradeAct::Validate);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(20)).state, Task::State::Running);
}

TEST_F(PodMoverTest, AValidatorIsWaitedForNoLongerThanThePolicyHasPatience) {
    policy.validation_timeout = Seconds(20);
    begin(UpgradeAct::Validate);
    EXPECT_EQ(after(UpgradeAct::Validate, seconds(13)).state, Task::State::Done);
}

TEST_F(PodMoverTest, AHostThatIsAlwaysAtSomethingElseIsWaitedForUntilTheTimeIsOver) {
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

TEST_F(PodMoverTest, WhatIsFoundAfterTheEndBeginsNothing) {
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

TEST_F(PodMoverTest, WhoHoldsTheDriverAndMustNotGoStopsIt) {
    put("holds", true);
    (void)server.patch(path_of("holds"),
                       {{"spec", {{"volumes", {{{"name", "x"}, {"emptyDir", Json::object()}}}}}}});
    holders = {"holds"};
    begin(UpgradeAct::DeletePods);
    const Task task = after(UpgradeAct::DeletePods, seconds(3));
    EXPECT_EQ(task.state, Task::State::Failed);
    EXPECT_NE(task.text.find("default/holds has an emptyDir"), std::string::npos) << task.text;
}

TEST_F(PodMoverTest, WhoHoldsNothingIsLookedForOnce) {
    put("idle", true);
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(3)).state, Task::State::Done);
    EXPECT_EQ(looks, 1U);
}

TEST_F(PodMoverTest, OfTwoPodsOfOneNameTheOneThatIsGoneIsNotWaitedFor) {
    policy.deletion.timeout = Seconds(600);
    put("web", true);
    put("other-web", true);
    (void)server.patch(path_of("other-web"), {{"metadata", {{"name", "web"}, {"namespace", "other"}}}});
    holders = {"web", "other-web"};
    begin(UpgradeAct::DeletePods);
    EXPECT_EQ(after(UpgradeAct::DeletePods, seconds(3)).state, Task::State::Running);
    server.cut(0, seconds(20), false); // the watch misses what comes now
    (void)after(UpgradeAct::DeletePods, seconds(1));
    server.remove(path_of("other-web"));
    server.forget();
    const Task task = after(UpgradeAct::DeletePods, seconds(120));
    EXPECT_EQ(task.state, Task::State::Running);
    EXPECT_EQ(task.text.find("other/web"), std::string::npos) << task.text;
    EXPECT_EQ(task.text.find("default/web"), 0U) << task.text;
}

} // namespace
} // namespace gpuhost::cluster
