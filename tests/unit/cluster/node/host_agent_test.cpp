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
            return writes &&
                   (refuses || (refuses_labels && request.body.find("gpu.product") != std::string::npos));
        };
        agent.emplace(*api, "gpu01", NodeDesired{{startup_taint}, true, {std::string(driver_ready)}},
                      [this](const std::string& line) { logged.push_back(line); });
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
    std::vector<std::string> logged;
    bool refuses = false;
    bool refuses_labels = false; ///< as the admission policy of an older version does
    std::optional<HostAgent> agent;
};

constexpr const char* product = "nvidia.com/gpu.product";

Readiness with_devices(const char* driver, const char* health, const char* reason) {
    Readiness readiness;
    readiness.conditions.push_back({std::string(driver_ready), driver, "Simulated", "it is simulated"});
    readiness.devices.emplace();
    readiness.devices->labels = std::map<std::string, std::string>{{product, "H100"}};
    readiness.devices->health = make_condition(gpus_healthy, health, reason, reason);
    readiness.devices->tainted = std::string(health) == "False";
    return readiness;
}

TEST_F(HostAgentTest, LabelsAreWrittenOnceAndRemoved) {
    agent->set_readiness(with_devices("True", "True", "Healthy"));
    run(seconds(60));
    EXPECT_EQ(server.find(node_path)->at("metadata")["labels"][product], "H100");
    EXPECT_EQ(string_or(condition(gpus_healthy), "status", ""), "True");
    const unsigned before = patches;
    run(seconds(200));
    EXPECT_EQ(patches, before) << "nothing changes";
    Readiness gone = with_devices("True", "True", "Healthy");
    gone.devices->labels->clear();
    gone.devices->health.reset();
    agent->set_readiness(std::move(gone));
    run(seconds(20));
    EXPECT_FALSE(server.find(node_path)->at("metadata")["labels"].contains(product));
    EXPECT_TRUE(condition(gpus_healthy).is_null()) << "a host that offers no GPU has no such condition";
}

TEST_F(HostAgentTest, RefusedLabelsDelayNothingElse) {
    refuses_labels = true;
    agent->set_readiness(with_devices("False", "True", "Healthy"));
    run(seconds(60));
    EXPECT_TRUE(is_tainted());
    EXPECT_NE(base::dump(agent->document()).find("admission policies of this version"), std::string::npos);
    const std::string refused = std::string("labels of the GPUs: ") + product + "=H100: ";
    EXPECT_NE(string_or(agent->document()["error"], "message", "").find(refused), std::string::npos);
    EXPECT_EQ(std::count_if(logged.begin(), logged.end(),
                            [&](const std::string& line) { return line.find(refused) != line.npos; }),
              1);
    agent->set_readiness(with_devices("True", "True", "Healthy"));
    run(seconds(5));
    EXPECT_FALSE(is_tainted()) << "the taint is removed at once";
    run(seconds(2400));
    const unsigned before = patches;
    run(seconds(1200));
    EXPECT_LE(patches, before + 8) << "four heartbeats, and at most four attempts at the labels";
    refuses_labels = false;
    run(seconds(900));
    EXPECT_EQ(server.find(node_path)->at("metadata")["labels"][product], "H100");
    EXPECT_TRUE(agent->document()["error"].is_null());
}

TEST_F(HostAgentTest, WebhooksMayRefuseLabelsWithAnyStatus) {
    refuses_labels = true;
    for (const unsigned status : {400U, 422U, 500U, 503U}) {
        server.refusal = status;
        agent->set_readiness(with_devices("True", "True", "Healthy"));
        run(seconds(60));
        EXPECT_FALSE(is_tainted()) << status;
        agent->set_readiness(with_devices("False", "True", "Healthy"));
        run(seconds(5));
        EXPECT_TRUE(is_tainted()) << status;
    }
}

TEST_F(HostAgentTest, ThrottledLabelsAreLoggedOnce) {
    refuses_labels = true;
    server.refusal = 429;
    agent->set_readiness(with_devices("True", "True", "Healthy"));
    run(seconds(300));
    EXPECT_EQ(std::count_if(logged.begin(), logged.end(),
                            [](const std::string& line) { return line.find("can't write") != line.npos; }),
              1);
    refuses_labels = false;
    run(seconds(120));
    EXPECT_EQ(server.find(node_path)->at("metadata")["labels"][product], "H100");
    EXPECT_TRUE(agent->document()["error"].is_null());
}

TEST_F(HostAgentTest, ContestedLabelOfGpusDelaysNoOther) {
    const auto revert = [this] {
        if (server.find(node_path)->at("metadata")["labels"].contains(product))
            (void)server.patch(node_path, {{"metadata", {{"labels", {{product, nullptr}}}}}});
    };
    Readiness readiness = with_devices("True", "True", "Healthy");
    agent->set_readiness(readiness);
    run(seconds(300), revert);
    (*readiness.devices->labels)["nvidia.com/gpu.count"] = "8";
    agent->set_readiness(readiness);
    run(seconds(5), revert);
    const Json& labels = server.find(node_path)->at("metadata")["labels"];
    EXPECT_EQ(string_or(labels, "nvidia.com/gpu.count", ""), "8");
    EXPECT_FALSE(labels.contains(product)) << "the write is held back";
    EXPECT_NE(agent->document()["error"].dump().find(product), std::string::npos);
}

TEST_F(HostAgentTest, ChangedHealthIsReportedWithTaint) {
    std::vector<std::string> reported;
    agent->on_condition([&](const Json& node, const Condition* before, const Condition& after) {
        EXPECT_TRUE(node.contains("metadata"));
        if (after.type == gpus_healthy)
            reported.push_back((before == nullptr ? "" : before->status) + ">" + after.status);
    });
    const auto taints = [&] {
        return base::dump(base::member(server.find(node_path)->at("spec"), "taints"));
    };
    agent->set_readiness(with_devices("True", "True", "Healthy"));
    run(seconds(20));
    agent->set_readiness(with_devices("True", "False", "RebootRequired"));
    run(seconds(20));
    EXPECT_NE(taints().find("gpuhost.io/gpu-unhealthy"), std::string::npos);
    agent->set_readiness(with_devices("True", "True", "Healthy"));
    run(seconds(20));
    EXPECT_EQ(taints().find("gpuhost.io/gpu-unhealthy"), std::string::npos);
    EXPECT_EQ(reported, (std::vector<std::string>{">True", "True>False", "False>True"}));
}

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
