// SPDX-License-Identifier: Apache-2.0
// The server and the client on real sockets, in one loop.
#include "daemon/rpc/client.hpp"
#include "daemon/rpc/message.hpp"
#include "daemon/rpc/server.hpp"
#include "daemon/rpc/socket.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/rpc/frames.hpp"
#include "tests/unit/rpc/sessions.hpp"

#include <array>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::rpc {
namespace {

using base::Errc;
using base::Result;
using base::UniqueFd;
using Answer = std::optional<Result<std::string>>;

class ServerTest : public testing::Test {
  protected:
    void start(const Limits& limits = {}) {
        server = std::make_unique<Server>(
            *Server::start({path, {service.make()}, limits, true, [this](const std::string& problem) {
                                problems.push_back(problem);
                            }}));
    }
    /// Runs the server for a moment.
    void work() {
        pollfd descriptor{server->descriptor(), POLLIN, 0};
        while (::poll(&descriptor, 1, 20) > 0)
            server->work();
    }
    UnaryCall begin(const std::string& method, std::string message, int deadline_ms = 5'000) {
        return *UnaryCall::start(
            path, {"/t.T/" + method, std::move(message), std::chrono::milliseconds(deadline_ms)});
    }
    /// Runs both ends until the call has an answer.
    Result<std::string> finish(UnaryCall& call) {
        for (;;) {
            if (auto answer = call.work())
                return std::move(*answer);
            std::array<pollfd, 2> both{{{server->descriptor(), POLLIN, 0}, {call.descriptor(), POLLIN, 0}}};
            (void)::poll(both.data(), both.size(), -1);
            server->work();
        }
    }
    Result<std::string> call(const std::string& method, std::string message) {
        UnaryCall started = begin(method, std::move(message));
        return finish(started);
    }
    [[nodiscard]] UniqueFd connect(std::string_view bytes) const {
        UniqueFd fd = *connect_to(path);
        (void)!::write(fd.get(), bytes.data(), bytes.size());
        return fd;
    }
    /// Returns whether the server has closed the connection.
    static bool closed(const UniqueFd& fd) {
        std::array<char, 4096> buffer{};
        for (;;) {
            const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
            if (n <= 0)
                return n == 0 || errno == ECONNRESET;
        }
    }
    static Limits impatient() {
        Limits limits;
        limits.patience = std::chrono::milliseconds(10);
        return limits;
    }

    tests::TempDir directory;
    std::string path = directory.path("plugin.sock");
    tests::TestService service;
    std::vector<std::string> problems;
    std::unique_ptr<Server> server;
};

TEST_F(ServerTest, AnswersLargeMessages) {
    start();
    const std::string message(4 << 20, 'm');
    EXPECT_EQ(call("Echo", message).value_or("error"), message);
    EXPECT_EQ(call("Echo", message + "m").error().code, Errc::Busy);
    EXPECT_TRUE(problems.empty());
}

TEST_F(ServerTest, AnswersManyClientsAtOnce) {
    start();
    std::vector<UnaryCall> calls;
    for (int i = 0; i < 20; ++i)
        calls.push_back(begin("Echo", std::to_string(i)));
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(finish(calls.at(static_cast<std::size_t>(i))).value_or("error"), std::to_string(i));
}

TEST_F(ServerTest, CallEndsAtItsDeadline) {
    start();
    UnaryCall waiting = begin("Later", "x", 20);
    EXPECT_EQ(finish(waiting).error().code, Errc::Timeout);
}

TEST_F(ServerTest, ClientThatGoesAwayCancelsItsCalls) {
    start();
    {
        const UnaryCall gone = begin("Later", "x");
        work();
    }
    work();
    EXPECT_EQ(service.cancelled, 1);
    EXPECT_EQ(server->connections(), 0U);
}

TEST_F(ServerTest, EndOfTheServerEndsCalls) {
    start();
    UnaryCall waiting = begin("Later", "x");
    work();
    server.reset();
    EXPECT_EQ(waiting.wait().error().message, "/t.T/Later: the server closed the connection");
    EXPECT_EQ(service.cancelled, 0);
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(ServerTest, SocketIsForItsUserOnly) {
    start();
    struct stat st {};
    ASSERT_EQ(::lstat(path.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode, S_IFSOCK | 0600U);
}

TEST_F(ServerTest, ReplacesAStaleSocket) {
    {
        auto crashed = ListeningSocket::make(path);
        ASSERT_TRUE(crashed);
        ASSERT_EQ(::link(path.c_str(), (path + ".kept").c_str()), 0);
    }
    ASSERT_EQ(::rename((path + ".kept").c_str(), path.c_str()), 0);
    start();
    EXPECT_TRUE(call("Echo", "x"));
}

TEST_F(ServerTest, RefusesASocketThatIsInUse) {
    start();
    const auto second = Server::start({path, {}, {}, true, {}});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::AlreadyExists);
    EXPECT_TRUE(call("Echo", "x"));
}

TEST_F(ServerTest, RefusesAFileThatIsNotASocket) {
    directory.write("plugin.sock", "text");
    const auto refused = Server::start({path, {}, {}, true, {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, path + ": not a socket");
    EXPECT_EQ(directory.read("plugin.sock"), "text");
}

TEST_F(ServerTest, RefusesALongPath) {
    EXPECT_EQ(Server::start({std::string(108, 'x'), {}, {}, true, {}}).error().code, Errc::InvalidArgument);
}

TEST_F(ServerTest, LeavesTheSocketOfASuccessor) {
    start();
    ASSERT_EQ(::unlink(path.c_str()), 0);
    const auto successor = Server::start({path, {}, {}, true, {}});
    ASSERT_TRUE(successor);
    server.reset();
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
}

TEST_F(ServerTest, EndsConnectionsThatDoNotBegin) {
    start(impatient());
    const UniqueFd silent = connect(tests::start().substr(0, 10));
    work();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    work();
    EXPECT_TRUE(closed(silent));
    EXPECT_EQ(problems.size(), 1U);
}

TEST_F(ServerTest, EndsRequestsThatStayIncomplete) {
    start(impatient());
    const UniqueFd slow = connect(tests::start() + tests::request(tests::request_headers("/t.T/Echo")));
    work();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    work();
    EXPECT_TRUE(closed(slow));
}

TEST_F(ServerTest, EndsAClientThatStopsReading) {
    start(impatient());
    const UniqueFd slow = connect(tests::start() + tests::request(tests::request_headers("/t.T/Watch")) +
                                  tests::data(framed("")));
    // Opens the windows of HTTP/2, so that only the socket's buffer is full.
    const std::string more("\x40\0\0\0", 4);
    ASSERT_GT(::write(slow.get(), (tests::frame(8, 0, 0, more) + tests::frame(8, 0, 1, more)).data(), 26), 0);
    work();
    service.watchers.send(std::string(4 << 20, 'x'));
    work();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    work();
    EXPECT_EQ(server->connections(), 0U);
    EXPECT_EQ(service.cancelled, 1);
}

TEST_F(ServerTest, KeepsIdleConnectionsAndWatchers) {
    start(impatient());
    const UniqueFd idle = connect(tests::start());
    const UniqueFd watcher = connect(tests::start() + tests::request(tests::request_headers("/t.T/Watch")) +
                                     tests::data(framed("")));
    work();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    work();
    EXPECT_FALSE(closed(idle));
    EXPECT_FALSE(closed(watcher));
}

TEST_F(ServerTest, NewConnectionsReplaceIdleOnes) {
    Limits limits;
    limits.connections = 2;
    start(limits);
    const UniqueFd watcher = connect(tests::start() + tests::request(tests::request_headers("/t.T/Watch")) +
                                     tests::data(framed("")));
    const UniqueFd idle = connect(tests::start());
    work();
    EXPECT_TRUE(call("Echo", "x"));
    EXPECT_TRUE(closed(idle));
    EXPECT_FALSE(closed(watcher));
}

TEST_F(ServerTest, RefusesConnectionsOverTheLimit) {
    Limits limits;
    limits.connections = 1;
    start(limits);
    const UnaryCall busy = begin("Later", "x");
    work();
    EXPECT_FALSE(call("Echo", "x"));
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems[0].find("too many connections"), std::string::npos);
}

TEST_F(ServerTest, FloodsEndOnlyTheirConnection) {
    start();
    std::string pings = tests::start();
    for (int i = 0; i < 2000; ++i)
        pings += tests::frame(tests::ping_frame, 0, 0, "12345678");
    const UniqueFd flood = connect(pings);
    work();
    EXPECT_TRUE(closed(flood));
    EXPECT_TRUE(call("Echo", "x"));
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems[0].find("process " + std::to_string(::getpid()) + " (user "), std::string::npos);
}

TEST_F(ServerTest, WaitsForDescriptorsWithoutSpinning) {
    start();
    UnaryCall waiting = begin("Echo", "x");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const UniqueFd next(::dup(STDIN_FILENO));
    const rlimit none{static_cast<rlim_t>(next.get()), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    server->work();
    pollfd descriptor{server->descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&descriptor, 1, 20), 0);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(problems.size(), 1U);
    EXPECT_TRUE(finish(waiting));
}

TEST_F(ServerTest, IdleServerHasNothingToDo) {
    start();
    const UniqueFd idle = connect(tests::start());
    work();
    pollfd descriptor{server->descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&descriptor, 1, 100), 0);
}

TEST_F(ServerTest, ReportsAreLimited) {
    start();
    for (int i = 0; i < 30; ++i) {
        const UniqueFd wrong = connect("GET / HTTP/1.1\r\n\r\n12345678");
        work();
    }
    EXPECT_EQ(problems.size(), 10U);
}

TEST_F(ServerTest, RefusesOtherUsers) {
    if (::geteuid() != 0)
        return; // only root can have another user
    start();
    ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
    ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
    const pid_t other = ::fork();
    if (other == 0) {
        if (::setuid(65534) != 0)
            ::_exit(2);
        ::_exit(connect_to(path) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(other, &status, 0), other);
    ASSERT_EQ(status, 0);
    work();
    EXPECT_EQ(server->connections(), 0U);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0], "refused a connection of process " + std::to_string(other) +
                               " (user 65534): only root may connect");
}

} // namespace
} // namespace gpuhost::rpc
