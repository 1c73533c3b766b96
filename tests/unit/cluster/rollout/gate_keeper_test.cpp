// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/cluster/rollout/gate_keeper.hpp"
#include "tests/support/tmpdir.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gpuhost::cluster {
namespace {

constexpr const char* nothing = R"({"status":"success","data":{"resultType":"vector","result":[]}})";
constexpr const char* something =
    R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"1"]}]}})";

/// Gives each client one answer, and records the requests.
class Prometheus {
  public:
    Prometheus() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(socket_.get(), 8), 0);
        (void)::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        thread_ = std::thread([this] { serve(); });
    }
    ~Prometheus() {
        (void)::shutdown(socket_.get(), SHUT_RDWR);
        thread_.join();
    }
    Prometheus(const Prometheus&) = delete;
    Prometheus& operator=(const Prometheus&) = delete;

    void answer(std::string body) {
        const std::lock_guard lock(mutex_);
        body_ = std::move(body);
    }
    std::vector<std::string> asked() {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    [[nodiscard]] const std::string& url() const { return url_; }

  private:
    void serve() {
        for (;;) {
            const base::UniqueFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!client)
                return;
            std::string head;
            std::array<char, 4096> bytes{};
            while (head.find("\r\n\r\n") == std::string::npos) {
                const ssize_t n = ::recv(client.get(), bytes.data(), bytes.size(), 0);
                if (n <= 0)
                    break;
                head.append(bytes.data(), static_cast<std::size_t>(n));
            }
            const std::lock_guard lock(mutex_);
            asked_.push_back(head);
            const std::string text =
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body_.size()) +
                "\r\n\r\n" + body_;
            (void)::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
        }
    }

    base::UniqueFd socket_;
    std::string url_;
    std::mutex mutex_;
    std::string body_ = nothing;
    std::vector<std::string> asked_;
    std::thread thread_;
};

class GateKeeperTest : public testing::Test {
  protected:
    [[nodiscard]] static Gate gate(const std::string& url, base::Json more = base::Json::object()) {
        base::Json value = {{"name", "g"}, {"url", url}, {"query", "up == 0"}, {"intervalSeconds", 1}};
        value.update(more);
        return parse_gate(value).value();
    }

    /// Runs the keeper until states() changes or the time is over.
    bool wait(Time most = Time(10'000)) {
        for (const Time end = now() + most; now() < end;) {
            if (keeper.turn())
                return true;
            pollfd polled{keeper.descriptor(), POLLIN, 0};
            const Time due = std::min(keeper.due().value_or(end), end);
            (void)::poll(&polled, 1, static_cast<int>(std::max(Time(0), due - now()).count()));
        }
        return false;
    }

    tests::TempDir directory;
    base::Root root = directory.root();
    std::vector<std::string> said;
    GateKeeper keeper{root, [this](const std::string& line) { said.push_back(line); }};
    Prometheus prometheus;
};

TEST_F(GateKeeperTest, UnusedGatesAreNotQueried) {
    EXPECT_FALSE(wait(Time(50)));
    EXPECT_FALSE(keeper.due());
    EXPECT_EQ(keeper.descriptor(), -1);
    EXPECT_TRUE(keeper.states().empty());
}

TEST_F(GateKeeperTest, AnswerIsValidForItsInterval) {
    const Gate one = gate(prometheus.url(), {{"intervalSeconds", 4}}); // a loaded machine pauses for a second
    keeper.want({one});
    ASSERT_TRUE(wait());
    EXPECT_EQ(keeper.states(), (GateStates{{one, ""}}));
    ASSERT_EQ(prometheus.asked().size(), 1U);
    EXPECT_EQ(prometheus.asked()[0].substr(0, 46), "GET /api/v1/query?query=up%20%3D%3D%200 HTTP/1");
    keeper.want({});
    EXPECT_FALSE(wait(Time(500)));
    keeper.want({one});
    EXPECT_FALSE(wait(Time(100))) << "the gate is not queried again so soon";
    EXPECT_EQ(prometheus.asked().size(), 1U);
    keeper.want({});
    EXPECT_FALSE(wait(Time(4000)));
    EXPECT_TRUE(keeper.states().empty()) << "an old answer does not count";
    EXPECT_EQ(prometheus.asked().size(), 1U) << "the gate was not requested";
}

TEST_F(GateKeeperTest, ClosedGateIsQueriedAgainAndStaysClosed) {
    const Gate one = gate(prometheus.url());
    prometheus.answer(something);
    keeper.want({one});
    ASSERT_TRUE(wait());
    EXPECT_EQ(keeper.states(), (GateStates{{one, R"(gate 'g': its query finds {a="b"})"}}));
    EXPECT_FALSE(wait(Time(2'500))) << "the state is unchanged";
    EXPECT_GE(prometheus.asked().size(), 2U);
    EXPECT_LE(prometheus.asked().size(), 4U);
    EXPECT_EQ(keeper.states().size(), 1U);
    prometheus.answer(nothing);
    ASSERT_TRUE(wait());
    EXPECT_EQ(keeper.states(), (GateStates{{one, ""}}));
    EXPECT_EQ(said, (std::vector<std::string>{R"(gate 'g': its query finds {a="b"})", "gate 'g' is open"}));
}

TEST_F(GateKeeperTest, GateThatCannotBeQueriedIsClosed) {
    const Gate away = gate("http://127.0.0.1:1");
    keeper.want({away});
    ASSERT_TRUE(wait());
    EXPECT_EQ(keeper.states().at(away),
              "gate 'g': can't query http://127.0.0.1:1: can't connect: Connection refused");
    prometheus.answer(std::string(2U << 20U, ' '));
    keeper.want({gate(prometheus.url())});
    ASSERT_TRUE(wait());
    EXPECT_NE(keeper.states().at(gate(prometheus.url())).find("response larger than requested"),
              std::string::npos);
    const Gate untrusted = gate("https://127.0.0.1:1");
    keeper.want({untrusted});
    ASSERT_TRUE(wait());
    EXPECT_NE(keeper.states().at(untrusted).find("no list of authorities"), std::string::npos);
    const Gate missing = gate("https://127.0.0.1:1", {{"caFile", "ca.pem"}});
    keeper.want({missing});
    ASSERT_TRUE(wait());
    EXPECT_NE(keeper.states().at(missing).find("gates/ca.pem"), std::string::npos);
}

TEST_F(GateKeeperTest, ForgottenGateIsQueriedAgain) {
    const Gate one = gate(prometheus.url(), {{"intervalSeconds", 600}});
    keeper.want({one});
    ASSERT_TRUE(wait());
    keeper.forget();
    EXPECT_TRUE(keeper.states().empty());
    keeper.want({one});
    ASSERT_TRUE(wait());
    EXPECT_EQ(prometheus.asked().size(), 2U);
    keeper.want({gate(prometheus.url())});
    EXPECT_FALSE(keeper.turn());
    keeper.forget();
    EXPECT_FALSE(wait(Time(200))) << "the running query was dropped";
}

} // namespace
} // namespace gpuhost::cluster
