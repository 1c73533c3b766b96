// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/gpu_users.hpp"
#include "tests/support/simulated_server.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Errc;
using base::Json;
using gpuhost::tests::SimulatedServer;
using gpuhost::tests::TempDir;
using Names = std::set<std::string>;

Json claim(const char* driver) {
    Json results = Json::array({{{"request", "r"}, {"driver", driver}, {"pool", "p"}, {"device", "d"}}});
    return {{"metadata", Json::object()},
            {"status", {{"allocation", {{"devices", {{"results", std::move(results)}}}}}}}};
}

std::string claim_path(const std::string& version, const std::string& name) {
    return "/apis/resource.k8s.io/" + version + "/namespaces/default/resourceclaims/" + name;
}

/// A node with pods that request no GPU, and with processes.
class GpuUsersTest : public ::testing::Test {
  protected:
    GpuUsersTest() {
        dir.write("etc/k.conf", tests::kubeconfig(tests::cluster_members("https://api")));
        api.emplace(Api::open(root, "/etc/k.conf").value());
        users.begin(*api);
    }

    void add(const std::string& name, std::vector<std::string> claims = {}) {
        PodFacts& pod = pods[name];
        pod.space = "default";
        pod.name = pod.uid = name;
        pod.claims = std::move(claims);
    }
    /// Returns the marked pods after `wait`; `unknown` has the facts that are still missing.
    Names marked(std::chrono::seconds patience = std::chrono::seconds(30)) {
        const auto end = server.now() + std::chrono::milliseconds(patience);
        for (;;) {
            users.turn();
            unknown = users.mark(pods);
            if (unknown.empty() || server.now() >= end)
                break;
            server.advance(std::min({server.next().value_or(end), server.now() + Time(1'000), end}));
            api->work();
        }
        Names names;
        for (const auto& [uid, pod] : pods)
            if (pod.uses_gpu)
                names.insert(uid);
        return names;
    }

    SimulatedServer server{1};
    TempDir dir;
    base::Root root = base::Root::open(dir.path()).value();
    std::optional<Api> api;
    std::vector<GpuUsers::Holders> answers{Names{}}; ///< of the host; the last one is repeated
    unsigned looks = 0;
    unsigned changes = 0;
    std::vector<std::string> said;
    GpuUsers users{[this] {
                       const std::size_t at = std::min<std::size_t>(looks++, answers.size() - 1);
                       users.found(answers[at]);
                   },
                   [this] { ++changes; }, [this](const std::string& line) { said.push_back(line); }};
    std::map<std::string, PodFacts> pods;
    std::string unknown;
};

TEST_F(GpuUsersTest, PodsThatHoldTheDriverAreMarked) {
    add("quiet");
    add("holds");
    answers = {Names{"holds", "of-another-node"}};
    EXPECT_EQ(marked(), Names{"holds"});
    EXPECT_EQ(unknown, "");
    EXPECT_EQ(looks, 1U) << "one query is enough while nothing changes";
    EXPECT_TRUE(users.confirm());
    EXPECT_EQ(looks, 1U);
}

TEST_F(GpuUsersTest, HostIsObservedAgainAfterPodsLeft) {
    add("late");
    EXPECT_EQ(marked(), Names{});
    answers = {Names{}, Names{"late"}};
    users.outdate();
    EXPECT_FALSE(users.confirm()) << "a query is running";
    EXPECT_EQ(looks, 2U);
    EXPECT_EQ(marked(), Names{"late"});
    EXPECT_TRUE(users.confirm());
    EXPECT_EQ(looks, 2U);
}

TEST_F(GpuUsersTest, BusyHostIsQueriedAgain) {
    add("holds");
    answers = {base::fail(Errc::Busy, "operation 3 runs"), Names{"holds"}};
    (void)marked(std::chrono::seconds(1));
    EXPECT_NE(unknown.find("operation 3 runs"), std::string::npos) << unknown;
    EXPECT_EQ(marked(), Names{"holds"});
    EXPECT_EQ(looks, 2U);
    EXPECT_EQ(said.size(), 0U);
}

TEST_F(GpuUsersTest, FailingHostIsQueriedSixTimesThenLogged) {
    add("quiet");
    answers = {base::fail(Errc::Failed, "no worker")};
    (void)marked(std::chrono::seconds(20));
    EXPECT_NE(unknown.find("no worker"), std::string::npos) << unknown;
    EXPECT_EQ(marked(), Names{});
    EXPECT_EQ(unknown, "");
    EXPECT_EQ(looks, 6U);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find("no worker"), std::string::npos);
}

TEST_F(GpuUsersTest, LastResultCountsWhileTheHostFails) {
    add("holds");
    answers = {Names{"holds"}, base::fail(Errc::Failed, "no worker")};
    EXPECT_EQ(marked(), Names{"holds"});
    users.outdate();
    EXPECT_FALSE(users.confirm());
    for (unsigned i = 0; i < 8; ++i) {
        (void)marked(std::chrono::seconds(0));
        server.advance(server.now() + Time(5'000));
        users.turn();
        (void)users.confirm();
    }
    pods["holds"].uses_gpu = false; // as after a new event of the watch
    EXPECT_EQ(marked(), Names{"holds"});
    EXPECT_TRUE(users.confirm());
}

TEST_F(GpuUsersTest, UnreadableClaimCountsAsGpuAfterTwoMinutes) {
    add("claims", {"c"});
    server.put(claim_path("v1", "c"), claim("nic.example"));
    server.faults.failed = 1000;
    EXPECT_EQ(marked(std::chrono::seconds(110)), Names{});
    EXPECT_NE(unknown.find("the resource claim 'c' of pod default/claims"), std::string::npos) << unknown;
    EXPECT_EQ(marked(std::chrono::seconds(20)), Names{"claims"});
    EXPECT_EQ(unknown, "");
    EXPECT_LT(server.calls, 30U);
    ASSERT_EQ(said.size(), 1U);
}

TEST_F(GpuUsersTest, ClaimIsQueriedWhileTheServerIsBusy) {
    add("claims", {"c"});
    server.put(claim_path("v1", "c"), claim("nic.example"));
    server.faults.refused = 1000;
    EXPECT_EQ(marked(std::chrono::minutes(10)), Names{});
    EXPECT_NE(unknown, "");
    server.faults.refused = 0;
    EXPECT_EQ(marked(), Names{});
    EXPECT_EQ(unknown, "");
}

TEST_F(GpuUsersTest, ClaimOfADeletedPodIsNotQueried) {
    add("claims", {"c"});
    server.faults.failed = 1000;
    (void)marked(std::chrono::seconds(10));
    pods.clear();
    EXPECT_EQ(marked(), Names{});
    const auto before = server.calls;
    server.advance(server.now() + Time(180'000));
    api->work();
    users.turn();
    server.advance(server.now() + Time(1'000));
    EXPECT_EQ(server.calls, before);
    EXPECT_FALSE(users.due().has_value());
    EXPECT_EQ(said.size(), 0U);
}

TEST_F(GpuUsersTest, ClaimIsReadOnceTheServerIsReachable) {
    add("claims", {"c"});
    server.put(claim_path("v1", "c"), claim("nic.example"));
    server.cut(0, std::chrono::minutes(2), false);
    EXPECT_EQ(marked(std::chrono::seconds(110)), Names{});
    EXPECT_NE(unknown, "");
    EXPECT_EQ(marked(), Names{});
    EXPECT_EQ(unknown, "");
}

TEST_F(GpuUsersTest, AnswersAfterTheEndAreIgnored) {
    add("one", {"gpu"});
    server.put(claim_path("v1", "gpu"), claim("gpu.nvidia.com"));
    answers = {Names{"one"}};
    (void)users.mark(pods); // sends requests
    changes = 0;
    users.end();
    server.advance(server.now() + Time(5'000));
    api->work();
    users.found(Names{"one"});
    EXPECT_FALSE(users.due().has_value());
    EXPECT_EQ(changes, 0U);
}

TEST_F(GpuUsersTest, ClaimsCountByTheirDriver) {
    server.put(claim_path("v1", "gpu"), claim("gpu.nvidia.com"));
    server.put(claim_path("v1", "channel"), claim("compute-domain.nvidia.com"));
    server.put(claim_path("v1", "nic"), claim("dra.net"));
    server.put(claim_path("v1", "like"), claim("gpu.notnvidia.com"));
    server.put(claim_path("v1", "pending"), Json{{"metadata", Json::object()}});
    server.put(claim_path("v1beta1", "older"), claim("gpu.nvidia.com"));
    for (const char* name : {"gpu", "channel", "nic", "like", "pending", "older", "gone"})
        add(name, {name});
    add("both", {"nic", "gpu"});
    EXPECT_EQ(marked(), (Names{"both", "channel", "gpu", "older"}));
    EXPECT_EQ(unknown, "");
}

TEST_F(GpuUsersTest, LaterAllocatedClaimIsMarkedNextTime) {
    server.put(claim_path("v1", "late"), Json{{"metadata", Json::object()}});
    add("one", {"late"});
    EXPECT_EQ(marked(), Names{});
    server.put(claim_path("v1", "late"), claim("gpu.nvidia.com"));
    users.outdate();
    EXPECT_EQ(marked(), Names{"one"});
}

TEST_F(GpuUsersTest, ClaimIsQueriedUntilTheServerAnswers) {
    server.put(claim_path("v1", "gpu"), claim("gpu.nvidia.com"));
    add("one", {"gpu"});
    server.faults.refused = 1000;
    EXPECT_EQ(marked(std::chrono::seconds(20)), Names{});
    EXPECT_NE(unknown.find("pod default/one"), std::string::npos) << unknown;
    server.faults.refused = 0;
    EXPECT_EQ(marked(), Names{"one"});
}

} // namespace
} // namespace gpuhost::cluster
