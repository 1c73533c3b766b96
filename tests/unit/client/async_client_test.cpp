// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"
#include "daemon/client/async_client.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>

namespace gpuhost::client {
namespace {

using base::Json;
using base::Result;
using Event = AsyncClient::Event;
using std::chrono::milliseconds;

constexpr const char* bus_name = "org.freedesktop.DBus";
constexpr const char* daemon_name = "org.gpuhost1";

/// A message bus for one client. It answers the client's calls to the bus; the test answers the others.
class FakeBus {
  public:
    explicit FakeBus(const std::string& path) : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listener_.get(), 1), 0);
    }

    /// Accepts the client's connection.
    void accept() {
        const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        ASSERT_GE(fd, 0);
        ASSERT_GE(sd_bus_new(base::OutPtr(bus_)), 0);
        ASSERT_GE(sd_bus_set_fd(bus_.get(), fd, fd), 0);
        ASSERT_GE(
            sd_bus_set_server(bus_.get(), 1, SD_ID128_MAKE(1, 2, 3, 4, 5, 6, 7, 8, 9, a, b, c, d, e, f, 0)),
            0);
        ASSERT_GE(sd_bus_add_filter(bus_.get(), nullptr, on_message, this), 0);
        ASSERT_GE(sd_bus_start(bus_.get()), 0);
    }

    void work() {
        while (sd_bus_process(bus_.get(), nullptr) > 0) {
        }
    }

    [[nodiscard]] bool has(const std::string& member) const { return find(member) != nullptr; }
    void answer_owner(bool owned) {
        sd_bus_message* const call = find("NameHasOwner");
        ASSERT_NE(call, nullptr);
        ASSERT_GE(sd_bus_reply_method_return(call, "b", static_cast<int>(owned)), 0);
    }
    void refuse(const std::string& member, const char* error) {
        sd_bus_message* const call = find(member);
        ASSERT_NE(call, nullptr);
        ASSERT_GE(sd_bus_reply_method_errorf(call, error, "refused"), 0);
    }
    /// Signals that the daemon acquired or lost its bus name.
    void tell_owner(bool came) {
        Message signal;
        ASSERT_GE(sd_bus_message_new_signal(bus_.get(), base::OutPtr(signal), "/org/freedesktop/DBus",
                                            bus_name, "NameOwnerChanged"),
                  0);
        ASSERT_GE(
            sd_bus_message_append(signal.get(), "sss", daemon_name, came ? "" : ":1.7", came ? ":1.7" : ""),
            0);
        ASSERT_GE(sd_bus_message_set_sender(signal.get(), bus_name), 0);
        ASSERT_GE(sd_bus_send(bus_.get(), signal.get(), nullptr), 0);
    }

  private:
    using Bus = base::CHandle<sd_bus, sd_bus_close_unref>;
    using Message = base::CHandle<sd_bus_message, sd_bus_message_unref>;

    static int on_message(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/) noexcept {
        if (sd_bus_message_is_method_call(message, bus_name, "Hello") > 0)
            return sd_bus_reply_method_return(message, "s", ":1.1");
        if (sd_bus_message_is_method_call(message, bus_name, "AddMatch") > 0)
            return sd_bus_reply_method_return(message, "");
        static_cast<FakeBus*>(userdata)->calls_.emplace_back(sd_bus_message_ref(message));
        return 1;
    }

    [[nodiscard]] sd_bus_message* find(const std::string& member) const {
        for (const Message& call : calls_)
            if (member == sd_bus_message_get_member(call.get()))
                return call.get();
        return nullptr;
    }

    base::UniqueFd listener_;
    Bus bus_;
    std::vector<Message> calls_;
};

class AsyncClientTest : public ::testing::Test {
  protected:
    AsyncClientTest() : bus(dir.path() + "/bus") {
        ::setenv("DBUS_SYSTEM_BUS_ADDRESS", ("unix:path=" + dir.path() + "/bus").c_str(), 1);
        client.emplace(AsyncClient::connect().value());
        bus.accept();
        EXPECT_TRUE(client->subscribe());
    }
    ~AsyncClientTest() override { ::unsetenv("DBUS_SYSTEM_BUS_ADDRESS"); }

    /// Runs the bus and the client once.
    void work() {
        bus.work();
        const auto event = client->wait(milliseconds(0), -1);
        ASSERT_TRUE(event);
        if (*event == Event::Came || *event == Event::Gone)
            events.push_back(*event);
    }
    [[nodiscard]] bool until(const std::function<bool()>& done) {
        return tests::eventually([&] {
            work();
            return done();
        });
    }

    tests::TempDir dir;
    FakeBus bus;
    std::optional<AsyncClient> client;
    std::vector<Event> events; ///< about the daemon's name
};

TEST_F(AsyncClientTest, NewerOwnerSignalOverridesAnOlderAnswer) {
    ASSERT_TRUE(until([&] { return bus.has("NameHasOwner"); }));
    bus.answer_owner(false);
    bus.tell_owner(true);
    bus.work(); // both are there before the client reads
    bool answered = false;
    client->order(manager_call("Reload"), [&](const Result<void>&) { answered = true; });
    ASSERT_TRUE(until([&] { return bus.has("Reload"); }));
    bus.refuse("Reload", SD_BUS_ERROR_ACCESS_DENIED);
    ASSERT_TRUE(until([&] { return answered; }));
    work();
    EXPECT_EQ(events, std::vector{Event::Came});
}

TEST_F(AsyncClientTest, MissingDaemonIsReportedAsGone) {
    ASSERT_TRUE(until([&] { return bus.has("NameHasOwner"); }));
    bus.answer_owner(false);
    ASSERT_TRUE(until([&] { return !events.empty(); }));
    EXPECT_EQ(events, std::vector{Event::Gone});
}

TEST_F(AsyncClientTest, RefusedNameHasOwnerCountsAsDaemonPresent) {
    ASSERT_TRUE(until([&] { return bus.has("NameHasOwner"); }));
    bus.refuse("NameHasOwner", "org.freedesktop.DBus.Error.LimitsExceeded");
    ASSERT_TRUE(until([&] { return !events.empty(); }));
    EXPECT_EQ(events, std::vector{Event::Came});
}

TEST_F(AsyncClientTest, DaemonLossIsReportedBeforeItsCallsFail) {
    std::vector<Event> known; // when the call fails
    client->ask(manager_call("Describe"), [&](const Result<Json>& answer) {
        ASSERT_FALSE(answer);
        known = events;
    });
    ASSERT_TRUE(until([&] { return bus.has("Describe"); }));
    bus.answer_owner(true);
    ASSERT_TRUE(until([&] { return !events.empty(); }));
    bus.refuse("Describe", SD_BUS_ERROR_NO_REPLY);
    bus.tell_owner(false);
    bus.work(); // both are there before the client reads
    ASSERT_TRUE(until([&] { return !known.empty(); }));
    EXPECT_EQ(known, (std::vector{Event::Came, Event::Gone}));
}

/// The daemon never answers. A client that waited for it would return from a call only after the call has
/// failed, so no renewal would be made while the call is pending, however fast or slow this machine is.
TEST_F(AsyncClientTest, TimersRunWhileTheDaemonDoesNotAnswer) {
    ASSERT_TRUE(until([&] { return bus.has("NameHasOwner"); })); // the client is connected
    constexpr unsigned renewals = 20;
    constexpr milliseconds between(5);
    unsigned failed = 0;
    const auto count = [&failed](const auto& answer) {
        EXPECT_FALSE(answer);
        ++failed;
    };
    client->ask(manager_call("Describe"), count);
    client->start(manager_call("Apply"), {}, count);
    client->order(manager_call("Reload"), count);
    client->list_operations(count);
    client->describe_operation(7, count);
    client->cancel(7, count);
    unsigned made = 0;
    auto due = std::chrono::steady_clock::now();
    while (made < renewals && failed == 0) {
        bus.work(); // passes the calls on
        const auto event =
            client->wait(std::max(milliseconds(0),
                                  std::chrono::ceil<milliseconds>(due - std::chrono::steady_clock::now())),
                         -1);
        ASSERT_TRUE(event);
        if (std::chrono::steady_clock::now() < due)
            continue;
        ++made;
        due += between;
    }
    EXPECT_EQ(made, renewals);
    EXPECT_EQ(failed, 0U) << "the calls are still pending";
    EXPECT_TRUE(bus.has("Cancel"));
}

} // namespace
} // namespace gpuhost::client
