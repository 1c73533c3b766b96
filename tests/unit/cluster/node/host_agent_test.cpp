// SPDX-License-Identifier: Apache-2.0
// Tests what a host writes on its Node while another writer reverts parts of it.
#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/node/host_agent.hpp"
#include "tests/support/simulated_server.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;
using base::string_or;
using gpuhost::tests::SimulatedServer;
using gpuhost::tests::TempDir;
using std::chrono::seconds;

constexpr const char* node_path = "/api/v1/nodes/gpu01";
constexpr const char* present = "nvidia.com/gpu.present";
constexpr const char* startup_taint = "gpuhost.io/not-ready";

class HostAgentTest : public ::testing::Test {
  protected:
    HostAgentTest() {
        dir.write("etc/k.conf", tests::kubeconfig(tests::cluster_members("https://api")));
        api.emplace(Api::open(root, "/etc/k.conf").value());
        create_node();
        server.forbids = [this](const http::Request& request) {
            const bool writes = request.method == "PATCH";
            patches += writes ? 1 : 0;
            return writes && refuses;
        };
        agent.emplace(*api, "gpu01", NodeDesired{{startup_taint}, true, {std::string(driver_ready)}},
                      [](const std::string&) {});
    }

    void create_node() {
        server.put(node_path, {{"metadata", {{"labels", Json::object()}}},
                               {"spec", Json::object()},
                               {"status", Json::object()}});
    }

    void set_readiness(const char* driver, const char* runtime) {
        Readiness readiness;
        readiness.gpus = 1;
        readiness.conditions.push_back({std::string(driver_ready), driver, "Simulated", "it is simulated"});
        readiness.conditions.push_back({std::string(runtime_ready), runtime, "Simulated", "it is simulated"});
        agent->set_readiness(std::move(readiness));
    }

    /// Runs the agent when it or the network is due, and every half minute as the program does.
    void run(
        seconds time, const std::function<void()>& other_writer = [] {}) {
        const auto end = server.now() + std::chrono::milliseconds(time);
        while (server.now() < end) {
            ++turns;
            agent->turn();
            api->work();
            const Time look = server.now() + seconds(30);
            const Time next = std::min(server.next().value_or(look), agent->due().value_or(look));
            server.advance(std::clamp(std::min(next, look), server.now() + Time(1), end));
            api->work();
            other_writer();
        }
    }

    [[nodiscard]] const Json& condition(std::string_view type) const {
        static const Json none;
        for (const Json& one : base::member((*server.find(node_path))["status"], "conditions"))
            if (string_or(one, "type", "") == type)
                return one;
        return none;
    }

    [[nodiscard]] std::int64_t beat(std::string_view type) const {
        return kube_seconds(string_or(condition(type), "lastHeartbeatTime", "")).value_or(0);
    }

    [[nodiscard]] bool is_tainted() const {
        return base::dump(base::member((*server.find(node_path))["spec"], "taints")).find(startup_taint) !=
               std::string::npos;
    }

    /// Sets one member of a condition.
    void overwrite(std::string_view type, const char* field, const char* value) {
        Json conditions = base::member((*server.find(node_path))["status"], "conditions");
        for (Json& one : conditions)
            if (string_or(one, "type", "") == type)
                one[field] = value;
        (void)server.patch(node_path, {{"status", {{"conditions", std::move(conditions)}}}});
    }

    void deny_runtime() {
        if (string_or(condition(runtime_ready), "status", "") == "True")
            overwrite(runtime_ready, "status", "False");
    }

    void remove_label() {
        if ((*server.find(node_path))["metadata"]["labels"].contains(present))
            (void)server.patch(node_path, {{"metadata", {{"labels", {{present, nullptr}}}}}});
    }

    SimulatedServer server{1};
    TempDir dir;
    base::Root root = base::Root::open(dir.path()).value();
    std::optional<Api> api;
    unsigned patches = 0;
    unsigned turns = 0;
    bool refuses = false;
    std::optional<HostAgent> agent;
};

TEST_F(HostAgentTest, ContestedConditionDoesNotDelayAnother) {
    set_readiness("True", "True");
    run(seconds(300), [this] { deny_runtime(); });
    set_readiness("False", "True");
    run(seconds(5), [this] { deny_runtime(); });
    EXPECT_EQ(condition(driver_ready)["status"], "False");
    EXPECT_EQ(condition(runtime_ready)["status"], "False") << "the write is held back";
    EXPECT_NE(agent->document()["error"].dump().find("RuntimeReady"), std::string::npos);
}

TEST_F(HostAgentTest, ContestedLabelDoesNotDelayTheTaint) {
    set_readiness("True", "True");
    run(seconds(300), [this] { remove_label(); });
    ASSERT_FALSE(is_tainted());
    set_readiness("False", "True");
    run(seconds(5), [this] { remove_label(); });
    EXPECT_TRUE(is_tainted());
    set_readiness("True", "True");
    run(seconds(5), [this] { remove_label(); });
    EXPECT_FALSE(is_tainted());
}

TEST_F(HostAgentTest, ContestedConditionDoesNotStopHeartbeats) {
    set_readiness("True", "True");
    for (unsigned i = 0; i < 60; ++i) {
        run(seconds(60), [this] { deny_runtime(); });
        const std::int64_t now = static_cast<std::int64_t>(base::realtime_us() / 1'000'000);
        ASSERT_LE(now - beat(driver_ready), 300) << "minute " << i;
    }
}

TEST_F(HostAgentTest, ConditionRecoversOnceUncontested) {
    set_readiness("True", "True");
    run(seconds(1200), [this] { deny_runtime(); });
    run(seconds(3600));
    EXPECT_EQ(condition(runtime_ready)["status"], "True");
    EXPECT_TRUE(agent->document()["error"].is_null()) << agent->document().dump();
    const std::int64_t now = static_cast<std::int64_t>(base::realtime_us() / 1'000'000);
    EXPECT_LE(now - beat(runtime_ready), 300);
}

TEST_F(HostAgentTest, RevertedHeartbeatIsWrittenOnceAMinute) {
    set_readiness("True", "True");
    run(seconds(30));
    patches = 0;
    run(seconds(600), [this] {
        if (beat(driver_ready) > 1)
            overwrite(driver_ready, "lastHeartbeatTime", "1970-01-01T00:00:01Z");
    });
    EXPECT_GE(patches, 9U);
    EXPECT_LE(patches, 11U);
}

TEST_F(HostAgentTest, HeldValueIsNotDueWhileRefused) {
    set_readiness("True", "True");
    run(seconds(100), [this] { deny_runtime(); });
    refuses = true;
    remove_label();
    turns = 0;
    run(seconds(120));
    EXPECT_GT(patches, 0U);
    EXPECT_LT(turns, 200U);
}

TEST_F(HostAgentTest, LateAnswerKeepsADeletedNode) {
    set_readiness("True", "True");
    run(seconds(30));
    for (unsigned i = 0; i < 20; ++i) { // the answer arrives before or after the watch's event, by chance
        bool removed = false;
        server.on_change = [&] {
            if (!std::exchange(removed, true))
                server.after(Time(1), [this] { server.remove(node_path); });
        };
        set_readiness(i % 2 == 0 ? "False" : "True", "True");
        run(seconds(5));
        ASSERT_TRUE(removed) << i;
        EXPECT_EQ(agent->document()["state"], "no-node") << i;
        server.on_change = [] {};
        create_node();
        run(seconds(5));
        EXPECT_EQ(agent->document()["state"], "connected") << i;
    }
}

} // namespace
} // namespace gpuhost::cluster
