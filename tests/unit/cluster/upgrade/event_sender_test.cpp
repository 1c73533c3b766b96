// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/event_sender.hpp"
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
using Texts = std::vector<std::string>;

class EventSenderTest : public ::testing::Test {
  protected:
    EventSenderTest() {
        dir.write("etc/k.conf", tests::kubeconfig(tests::cluster_members("https://api")));
        api.emplace(Api::open(root, "/etc/k.conf").value());
        server.forbids = [this](const http::Request& request) {
            const Json body = Json::parse(request.body, nullptr, false);
            if (!refuses)
                created.push_back(base::string_or(body, "message", ""));
            return refuses;
        };
        sender.emplace(*api, [](const std::string&) {});
        node.name = "gpu01";
        node.uid = "1";
    }

    void send(const std::string& message, unsigned attempt = 1) {
        node.record.attempts = attempt;
        sender->send(node, {false, message});
        run(seconds(5));
    }

    void run(seconds time) {
        const auto end = server.now() + std::chrono::milliseconds(time);
        while (server.now() < end) {
            sender->turn();
            const Time next = std::min(server.next().value_or(end), sender->due().value_or(end));
            server.advance(std::clamp(next, server.now() + Time(1), end));
            api->work();
        }
    }

    SimulatedServer server{1};
    TempDir dir;
    base::Root root = base::Root::open(dir.path()).value();
    std::optional<Api> api;
    std::optional<EventSender> sender;
    UpgradeNode node;
    bool refuses = false;
    Texts created;
};

TEST_F(EventSenderTest, SameTextIsOneEventInFiveMinutes) {
    send("a");
    send("a");
    send("b");
    EXPECT_EQ(created, (Texts{"a", "b"}));
    run(seconds(300));
    send("a");
    EXPECT_EQ(created, (Texts{"a", "b", "a"}));
}

TEST_F(EventSenderTest, EachAttemptHasItsOwnEvents) {
    send("a", 1);
    send("a", 2);
    EXPECT_EQ(created, (Texts{"a", "a"}));
}

TEST_F(EventSenderTest, LostEventIsCreatedOnRepetition) {
    refuses = true;
    send("a");
    EXPECT_TRUE(created.empty());
    refuses = false;
    send("a");
    EXPECT_EQ(created, Texts{"a"});
}

} // namespace
} // namespace gpuhost::cluster
