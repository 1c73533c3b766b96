// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/agent.hpp"
#include "tests/support/simulated_server.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;
using gpuhost::tests::SimulatedServer;
using gpuhost::tests::TempDir;
using std::chrono::seconds;

constexpr const char* node_path = "/api/v1/nodes/gpu01";

/// A host that can be upgraded, but has no task yet.
struct IdleHost final : public UpgradeHost {
    [[nodiscard]] HostDriver driver() const override {
        HostDriver driver;
        driver.is_known = driver.has_gpus = driver.ready = true;
        driver.running = "535.216.01";
        return driver;
    }
    [[nodiscard]] Task check(const std::string&) const override { return {Task::State::Done, "", false}; }
    [[nodiscard]] Task swap(const std::string&, std::int64_t) const override { return {}; }
    [[nodiscard]] Task pods(UpgradeAct) const override { return {}; }
    void be_at(const UpgradeWork&) override {}
    void drop_request() override {}
};

class UpgradeAgentTest : public ::testing::Test {
  protected:
    UpgradeAgentTest() {
        dir.write("etc/k.conf", tests::kubeconfig(tests::cluster_members("https://api")));
        api.emplace(Api::open(root, "/etc/k.conf").value());
        UpgradePolicy wants;
        wants.version = "550.163.01";
        wants.mode = UpgradeMode::Controlled;
        policy.pools.push_back({"default", Selector(), wants});
        server.put(node_path, {{"metadata", {{"labels", {{"nvidia.com/gpu.present", "true"}}}}},
                               {"spec", Json::object()},
                               {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
        server.forbids = [this](const http::Request& request) {
            const Json body = Json::parse(request.body, nullptr, false);
            if (base::string_or(body, "kind", "") == "Event")
                events.push_back(body["type"].get<std::string>() + ": " + body["message"].get<std::string>());
            const bool forbidden = refuses && request.body.find(key::state) != std::string::npos;
            refusals += forbidden ? 1 : 0;
            return forbidden;
        };
        upgrade.emplace(*api, "gpu01", host, [](const std::string&) {});
        upgrade->set_policy(&policy);
        agent.emplace(
            *api, "gpu01", NodeDesired(), [](const std::string&) {}, &*upgrade);
        Readiness ready;
        ready.gpus = 1;
        agent->set_readiness(ready);
    }

    void run(seconds time) {
        const auto end = server.now() + std::chrono::milliseconds(time);
        while (server.now() < end) {
            upgrade->turn();
            agent->turn();
            auto next = std::min(server.next().value_or(end), agent->due().value_or(end));
            next = std::min(next, upgrade->due().value_or(end));
            server.advance(std::clamp(next, server.now() + Time(1), end));
            api->work();
        }
    }
    SimulatedServer server{1};
    std::vector<std::string> events; ///< "Warning: message"
    unsigned refusals = 0;
    bool refuses = false; ///< patches of the upgrade's state label
    TempDir dir;
    base::Root root = base::Root::open(dir.path()).value();
    std::optional<Api> api;
    Policy policy;
    IdleHost host;
    std::optional<UpgradeAgent> upgrade;
    std::optional<HostAgent> agent;
};

TEST_F(UpgradeAgentTest, RepeatedlyRefusedLabelIsOneEvent) {
    refuses = true;
    run(seconds(120));
    EXPECT_GT(refusals, 2U);
    const std::string refused = "Warning: Failed to update node state label to upgrade-required, the site's "
                                "webhook denies it";
    EXPECT_EQ(events, std::vector{refused});
    refuses = false;
    run(seconds(120));
    EXPECT_EQ(events, (std::vector<std::string>{
                          refused, "Normal: Successfully updated node state label to upgrade-required"}));
}

} // namespace
} // namespace gpuhost::cluster
