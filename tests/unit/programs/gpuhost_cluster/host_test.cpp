// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/programs/gpuhost_cluster/host.hpp"
#include "tests/support/fake_daemon.hpp"
#include "tests/support/simulated_server.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost {
namespace {

using base::Errc;
using base::Json;
using cluster::Task;
using cluster::UpgradeAct;
using State = Task::State;
using std::chrono::seconds;
using tests::FakeDaemon;
using tests::SimulatedServer;
using tests::TempDir;

constexpr const char* wanted = "550.163.01";
const Json nothing_in_the_way = {{"problems", Json::array()}};

class ClusterHostTest : public ::testing::Test {
  protected:
    /// `own` is the value of ClusterSettings::evicts_as_own.
    explicit ClusterHostTest(bool own = false)
        : api(own ? std::optional(open_api()) : std::nullopt),
          host(
              daemon.client, root, "gpu01", [](const std::string&) {}, api ? &*api : nullptr) {
        policy.deletion.enabled = policy.drain.enabled = false;
    }
    cluster::Api open_api() {
        dir.write("kubeconfig", cluster::tests::kubeconfig(cluster::tests::cluster_members("https://api")));
        return cluster::Api::open(root, "/kubeconfig").value();
    }

    /// Runs the program's loop once.
    void round(UpgradeAct act, const std::string& version = wanted, std::int64_t since = 0) {
        if (api)
            api->work();
        host.turn();
        host.be_at({act, version, &policy, since});
    }
    void pass(seconds time) { server.advance(server.now() + time); }
    /// Simulates an observation that describes operation `id`.
    void see(std::optional<std::uint64_t> id = {}, const FakeDaemon::Answer& operation = Json()) {
        DaemonState state;
        state.operations = daemon.rows;
        state.host = Json{{"state", "idle"}};
        if (id)
            state.descriptions.insert_or_assign(*id, operation);
        host.see(state);
    }
    /// Adds an operation to the list.
    void put_row(std::uint64_t id, const char* state, std::int64_t began) {
        daemon.rows.push_back(
            {id, "driver.swap", state, "swap", static_cast<std::uint64_t>(began) * 1'000'000, 0});
    }
    /// Describes a swap to the wanted version.
    static Json swap(const char* state, uid_t requester = ::geteuid()) {
        return {{"state", state},
                {"driver", {{"kernel", "6.1.0"}, {"from", "535.261.03"}, {"to", wanted}}},
                {"subject", {{"uid", requester}}}};
    }
    /// Runs the program's loop for up to a minute; returns whether `done` became true.
    bool until(UpgradeAct act, std::int64_t since, const std::function<bool()>& done) {
        for (int i = 0; i < 6'000 && !done(); ++i) {
            round(act, wanted, since);
            server.advance(server.now() + std::chrono::milliseconds(10));
        }
        return done();
    }
    /// Adds a running pod of this host and returns its UID.
    Json put_pod(const std::string& name) {
        server.put("/api/v1/pods/" + name,
                   {{"metadata",
                     {{"name", name},
                      {"namespace", "default"},
                      {"ownerReferences", {{{"kind", "ReplicaSet"}, {"controller", true}}}}}},
                    {"spec", {{"nodeName", "gpu01"}}},
                    {"status", {{"phase", "Running"}}}});
        return server.find("/api/v1/pods/" + name)->at("metadata").at("uid");
    }
    [[nodiscard]] bool evicted(const std::string& name) const {
        return server.find("/api/v1/namespaces/default/pods/" + name + "/eviction/" + name) != nullptr;
    }

    SimulatedServer server{1};
    TempDir dir;
    base::Root root = base::Root::open(dir.path()).value();
    cluster::UpgradePolicy policy;
    FakeDaemon daemon;
    std::optional<cluster::Api> api; ///< with this program's own credentials
    ClusterHost host;
};

class OwnEvictionTest : public ClusterHostTest {
  protected:
    OwnEvictionTest() : ClusterHostTest(true) { policy.deletion.enabled = true; }
};

TEST_F(ClusterHostTest, BusyDaemonIsQueriedAgainLater) {
    round(UpgradeAct::Check);
    ASSERT_TRUE(daemon.answer("Plan", nothing_in_the_way));
    ASSERT_TRUE(daemon.answer("DryRun", base::fail(Errc::Busy, "operation 3 runs")));
    ASSERT_TRUE(host.due().has_value());
    const auto due = *host.due();
    for (; server.now() < due; pass(seconds(1))) {
        round(UpgradeAct::Check);
        ASSERT_EQ(daemon.calls("Plan"), 1U) << (due - server.now()).count() << " ms too early";
    }
    round(UpgradeAct::Check);
    EXPECT_EQ(daemon.calls("Plan"), 2U);
}

TEST_F(ClusterHostTest, RestartedDaemonIsQueriedImmediately) {
    round(UpgradeAct::Check);
    ASSERT_TRUE(daemon.answer("Plan", nothing_in_the_way));
    ASSERT_TRUE(daemon.answer("DryRun", base::fail(Errc::Busy, "operation 3 runs")));
    host.lose();
    round(UpgradeAct::Check);
    EXPECT_EQ(daemon.calls("Plan"), 2U);
}

TEST_F(ClusterHostTest, SilentDaemonDoesNotFailTheCheck) {
    const auto silence = [] { return base::fail(Errc::Timeout, "gpuhostd does not answer"); };
    round(UpgradeAct::Check);
    ASSERT_TRUE(daemon.answer("Plan", silence()));
    EXPECT_EQ(host.check(wanted).state, State::None);
    pass(seconds(15));
    round(UpgradeAct::Check);
    ASSERT_TRUE(daemon.answer("Plan", nothing_in_the_way));
    ASSERT_TRUE(daemon.answer("DryRun", silence()));
    EXPECT_EQ(host.check(wanted).state, State::None);
    pass(seconds(15));
    round(UpgradeAct::Check);
    ASSERT_TRUE(daemon.answer("Plan", nothing_in_the_way));
    ASSERT_TRUE(daemon.answer("DryRun", Json(7)));
    see(7, silence());
    EXPECT_EQ(host.check(wanted).state, State::None);
    pass(seconds(15));
    round(UpgradeAct::Check);
    EXPECT_EQ(daemon.calls("Plan"), 4U);
}

TEST_F(ClusterHostTest, DryRunOfAnotherVersionDoesNotCount) {
    round(UpgradeAct::Check);
    ASSERT_TRUE(daemon.answer("Plan", nothing_in_the_way));
    ASSERT_TRUE(daemon.answer("DryRun", Json(7)));
    round(UpgradeAct::Check, "560.1");
    ASSERT_TRUE(daemon.answer("Plan", Json{{"problems", {{{"text", "560.1 is not in the store"}}}}}));
    ASSERT_EQ(host.check("560.1").state, State::Failed);
    see(7, Json{{"state", "checked"}, {"problems", Json::array()}});
    EXPECT_EQ(host.check("560.1").state, State::Failed);
}

TEST_F(ClusterHostTest, DryRunDecidesTheCheck) {
    round(UpgradeAct::Check);
    EXPECT_EQ(host.check(wanted).state, State::Running);
    ASSERT_TRUE(daemon.answer("Plan", nothing_in_the_way));
    ASSERT_TRUE(daemon.answer("DryRun", Json(7)));
    see(7, Json{{"state", "running"}});
    pass(seconds(600));
    round(UpgradeAct::Check);
    EXPECT_EQ(daemon.calls("Plan"), 1U) << "the first plan is still running";
    see(7, Json{{"state", "checked"}, {"problems", Json::array()}});
    EXPECT_EQ(host.check(wanted).state, State::Done);
}

TEST_F(ClusterHostTest, RequestedSwapRuns) {
    round(UpgradeAct::Swap, wanted, 100);
    see();
    EXPECT_EQ(host.swap(wanted, 100).state, State::Running);
    EXPECT_TRUE(host.driver().swaps);
    ASSERT_TRUE(daemon.answer("Swap", Json(8)));
    EXPECT_EQ(host.swap(wanted, 100).state, State::Running);
    EXPECT_TRUE(host.driver().swaps);
}

TEST_F(ClusterHostTest, UnansweredSwapRunsUntilTheNextObservation) {
    round(UpgradeAct::Swap, wanted, 100);
    ASSERT_TRUE(daemon.answer("Swap", base::fail(Errc::Timeout, "gpuhostd does not answer")));
    host.lose();
    EXPECT_EQ(host.swap(wanted, 100).state, State::Running);
    EXPECT_TRUE(host.driver().swaps);
    see();
    EXPECT_EQ(host.swap(wanted, 100).state, State::None);
    EXPECT_FALSE(host.driver().swaps);
}

TEST_F(ClusterHostTest, RefusedSwapDoesNotRun) {
    round(UpgradeAct::Swap, wanted, 100);
    ASSERT_TRUE(daemon.answer("Swap", base::fail(Errc::Busy, "operation 3 runs")));
    EXPECT_EQ(host.swap(wanted, 100).state, State::None);
    pass(seconds(15));
    round(UpgradeAct::Swap, wanted, 100);
    ASSERT_TRUE(daemon.answer("Swap", base::fail(Errc::NotFound, "not in the store")));
    EXPECT_EQ(host.swap(wanted, 100).state, State::Failed);
    EXPECT_FALSE(host.driver().swaps);
}

TEST_F(ClusterHostTest, DescriptionOverridesTheOlderRow) {
    put_row(8, "running", 200);
    see(8, swap("running"));
    EXPECT_TRUE(host.driver().changing);
    see(8, swap("failed"));
    EXPECT_EQ(host.swap(wanted, 100).state, State::Failed);
    EXPECT_FALSE(host.driver().changing);
}

TEST_F(ClusterHostTest, SwapOfAnEarlierRunIsFollowed) {
    put_row(8, "running", 200);
    see(8, swap("running"));
    EXPECT_EQ(host.swap(wanted, 100).state, State::Running);
    EXPECT_EQ(host.swap(wanted, 201).state, State::None) << "it began too early";
    EXPECT_EQ(host.swap("163.01", 100).state, State::None) << "another version";
}

TEST_F(ClusterHostTest, SwapOfAnotherUserIsNotTheUpgrade) {
    put_row(8, "running", 200);
    see(8, swap("running", ::geteuid() + 1));
    EXPECT_EQ(host.swap(wanted, 100).state, State::None);
    EXPECT_TRUE(host.driver().swaps) << "a swap is in progress all the same";
    see(8, swap("failed", ::geteuid() + 1));
    EXPECT_EQ(host.swap(wanted, 100).state, State::None);
}

TEST_F(ClusterHostTest, StartedSwapNeedsNoVersionInItsDocument) {
    round(UpgradeAct::Swap, wanted, 100);
    ASSERT_TRUE(daemon.answer("Swap", Json(8)));
    put_row(8, "committed", 200);
    see(8, Json{{"state", "committed"}});
    EXPECT_EQ(host.swap(wanted, 100).state, State::Done);
}

TEST_F(ClusterHostTest, DocumentWithoutVersionIsNotTheUpgrade) {
    put_row(8, "committed", 200);
    see(8, Json{{"state", "committed"}, {"subject", {{"uid", ::geteuid()}}}});
    EXPECT_EQ(host.swap(wanted, 100).state, State::None);
}

TEST_F(ClusterHostTest, CredentialsAreReadOnceReceived) {
    policy.deletion.enabled = true;
    round(UpgradeAct::DeletePods, wanted, 100);
    EXPECT_EQ(host.pods(UpgradeAct::DeletePods).text, "waits for the kubelet's credentials from gpuhostd");
    ASSERT_TRUE(daemon.answer("GetKubeletCredentials", Json{{"files", Json::object()}}));
    round(UpgradeAct::DeletePods, wanted, 100);
    EXPECT_EQ(host.pods(UpgradeAct::DeletePods).text,
              "kubeconfig of the kubelet: not found: name it in KubeletFiles=, or set EvictAs=own");
}

TEST_F(ClusterHostTest, PodThatHoldsTheDriverIsEvicted) {
    const auto since = static_cast<std::int64_t>(base::realtime_us() / 1'000'000);
    const auto delete_pods = [&](const std::function<bool()>& done) {
        return until(UpgradeAct::DeletePods, since, done);
    };
    policy.deletion.enabled = true;
    put_pod("web");
    const Json uid = put_pod("train");
    round(UpgradeAct::DeletePods, wanted, since);
    ASSERT_TRUE(daemon.answer(
        "GetKubeletCredentials",
        Json{{"files",
              {{"/etc/kubelet.conf",
                cluster::tests::kubeconfig(cluster::tests::cluster_members("https://api"))}}}}));
    ASSERT_TRUE(delete_pods([this] { return daemon.calls("Holders") == 1; }));
    ASSERT_TRUE(daemon.answer("Holders", base::fail(Errc::Timeout, "gpuhostd does not answer")));
    ASSERT_TRUE(delete_pods([this] { return daemon.calls("Holders") == 2; }));
    ASSERT_TRUE(daemon.answer("Holders", Json{{{"pid", 1}, {"pod", ""}}, {{"pid", 2}, {"pod", uid}}}));
    EXPECT_TRUE(delete_pods([&] { return evicted("train"); }));
    EXPECT_FALSE(evicted("web"));
    EXPECT_EQ(daemon.calls("DryRun"), 0U);
}

TEST_F(OwnEvictionTest, CheckFailsWithoutTheRightToEvict) {
    server.denied = "create";
    ASSERT_TRUE(until(UpgradeAct::Check, 0, [this] { return host.check(wanted).state == State::Failed; }));
    EXPECT_EQ(host.check(wanted).text,
              "can't move pods: this host's user may not evict pods (EvictAs=own): apply "
              "/usr/share/gpuhost/kubernetes/evict/host-evict.yaml");
    EXPECT_EQ(daemon.calls("Plan"), 0U);
    server.denied = "watch";
    ASSERT_TRUE(until(UpgradeAct::Check, 0, [this] {
        return host.check(wanted).text.find("this host's user may not watch pods") != std::string::npos;
    }));
    server.denied.clear();
    EXPECT_TRUE(until(UpgradeAct::Check, 0, [this] { return daemon.calls("Plan") == 1; }));
}

TEST_F(OwnEvictionTest, OverriddenBudgetsNeedTheRightToDelete) {
    server.denied = "delete";
    policy.override_pdb = true;
    ASSERT_TRUE(until(UpgradeAct::Check, 0, [this] {
        return host.check(wanted).text.find("this host's user may not delete pods") != std::string::npos;
    }));
    EXPECT_EQ(daemon.calls("Plan"), 0U);
    policy.override_pdb = false;
    EXPECT_TRUE(until(UpgradeAct::Check, 0, [this] { return daemon.calls("Plan") == 1; }));
}

TEST_F(OwnEvictionTest, ForbiddenReviewFailsTheCheck) {
    server.forbids = [](const http::Request&) { return true; };
    EXPECT_TRUE(until(UpgradeAct::Check, 0, [this] { return host.check(wanted).state == State::Failed; }));
    EXPECT_EQ(daemon.calls("Plan"), 0U);
}

TEST_F(OwnEvictionTest, PodIsEvictedWithoutTheKubeletsCredentials) {
    const auto since = static_cast<std::int64_t>(base::realtime_us() / 1'000'000);
    const Json uid = put_pod("train");
    ASSERT_TRUE(until(UpgradeAct::DeletePods, since, [this] { return daemon.calls("Holders") == 1; }));
    ASSERT_TRUE(daemon.answer("Holders", Json{{{"pid", 1}, {"pod", uid}}}));
    EXPECT_TRUE(until(UpgradeAct::DeletePods, since, [this] { return evicted("train"); }));
    EXPECT_EQ(daemon.calls("GetKubeletCredentials"), 0U);
    EXPECT_EQ(host.descriptor(), -1);
}

} // namespace
} // namespace gpuhost
