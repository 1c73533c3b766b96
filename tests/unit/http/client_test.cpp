// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "daemon/http/client.hpp"
#include "tests/support/pki.hpp"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <set>
#include <thread>

#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gpuhost::http {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto patience = 20s;
constexpr milliseconds soon{700};

std::string script() {
    const char* const top = std::getenv("top_srcdir");
    return std::string(top == nullptr ? "." : top) + "/tests/support/http2_server.py";
}

/// Runs tests/support/http2_server.py with a certificate for localhost.
class Http2Server {
  public:
    Http2Server() {
        tests::CertificateRequest request;
        request.name = "Authority";
        request.authority = true;
        const tests::Identity authority = tests::make_identity(request);
        request.name = "localhost";
        request.authority = false;
        request.alternative_names = "DNS:localhost";
        const tests::Identity server = tests::make_identity(request, &authority);
        authorities_ = authority.certificate;
        directory_.write("cert.pem", server.certificate);
        directory_.write("key.pem", server.key);
        base::Command command;
        command.argv = {"/usr/bin/python3", script(), directory_.path("cert.pem"),
                        directory_.path("key.pem")};
        if (auto started = base::Running::start(command))
            running_.emplace(std::move(*started));
    }

    /// Returns an empty text if the server cannot run here; `said` has the reason.
    [[nodiscard]] std::string url(const std::string& path) {
        return port_.empty() ? "" : "https://127.0.0.1:" + port_ + path;
    }

    /// Waits for the server's first line, which is its port or an error.
    [[nodiscard]] std::string begin() {
        std::string said;
        std::array<char, 512> bytes{};
        while (running_ && said.find('\n') == std::string::npos) {
            pollfd polled{running_->output(), POLLIN, 0};
            if (::poll(&polled, 1, 20'000) <= 0)
                break;
            const ssize_t n = ::read(running_->output(), bytes.data(), bytes.size());
            if (n <= 0)
                break;
            said.append(bytes.data(), static_cast<std::size_t>(n));
        }
        const std::string line(base::trim(said));
        if (base::parse_uint(line))
            port_ = line;
        return line;
    }

    [[nodiscard]] std::uint16_t port() const {
        return static_cast<std::uint16_t>(base::parse_uint(port_).value_or(0));
    }
    [[nodiscard]] const std::string& authorities() const { return authorities_; }

  private:
    tests::TempDir directory_;
    std::string authorities_;
    std::string port_;
    std::optional<base::Running> running_;
};

class Http2Test : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string said = server.begin(); server.url("").empty())
            GTEST_SKIP() << said;
        Options options;
        options.tls.authorities = server.authorities();
        options.server_name = "localhost";
        options.http2 = true;
        auto made = Client::make(std::move(options));
        ASSERT_TRUE(made) << made.error().message;
        client.emplace(std::move(*made));
    }

    std::uint64_t start(const std::string& path, milliseconds deadline) {
        Request request;
        request.url = server.url(path);
        request.deadline = deadline;
        if (path == "/stream")
            request.on_bytes = [this](std::string_view bytes) {
                streamed += bytes.size();
                return true;
            };
        return client->start(std::move(request));
    }

    /// Waits until these requests are answered. `answers` gets other answers too.
    bool wait(std::set<std::uint64_t> ids) {
        const auto end = Clock::now() + patience;
        while (!ids.empty() && Clock::now() < end)
            for (Answer& answer : client->wait(100ms)) {
                ids.erase(answer.id);
                answers.emplace(answer.id, std::move(answer));
            }
        return ids.empty();
    }

    Answer ask(const std::string& path, milliseconds deadline = patience) {
        const std::uint64_t id = start(path, deadline);
        return wait({id}) ? answers.at(id) : Answer();
    }

    Http2Server server;
    std::optional<Client> client;
    std::map<std::uint64_t, Answer> answers;
    std::size_t streamed = 0;
};

TEST_F(Http2Test, RequestAfterATimeoutUsesAnotherConnection) {
    ASSERT_EQ(ask("/silence").status, 200U);
    ASSERT_EQ(ask("/ok", soon).failure, Failure::Timeout);
    const Answer next = ask("/ok", 5s);
    EXPECT_EQ(next.status, 200U) << next.problem;
}

TEST_F(Http2Test, TransfersOnASilentConnectionFailWithIt) {
    ASSERT_EQ(ask("/silence").status, 200U);
    const std::uint64_t endless = start("/ok", 0ms);
    const std::uint64_t late = start("/ok", soon);
    ASSERT_TRUE(wait({endless, late}));
    EXPECT_EQ(answers.at(endless).failure, Failure::Timeout);
    EXPECT_EQ(answers.at(endless).problem, "timed out");
}

TEST_F(Http2Test, StreamOutlivesARequestThatTimesOut) {
    const std::uint64_t stream = start("/stream", 0ms);
    ASSERT_EQ(ask("/hang", soon).failure, Failure::Timeout);
    EXPECT_EQ(ask("/ok", 5s).status, 200U);
    const std::size_t before = streamed;
    const auto end = Clock::now() + patience;
    while (streamed == before && Clock::now() < end)
        for (const Answer& answer : client->wait(100ms))
            ADD_FAILURE() << "answered: " << answer.id << ": " << answer.problem;
    EXPECT_GT(streamed, before);
    client->cancel(stream);
    EXPECT_EQ(ask("/ok", 5s).status, 200U);
}

TEST_F(Http2Test, TransferOfAnOldGenerationCanBeCancelled) {
    const std::uint64_t stream = start("/stream", 0ms);
    ASSERT_TRUE(client->set_tls({server.authorities(), "", ""}));
    EXPECT_EQ(ask("/ok", 5s).status, 200U);
    client->cancel(stream);
    const std::size_t before = streamed;
    EXPECT_EQ(ask("/ok", 5s).status, 200U);
    EXPECT_EQ(streamed, before);
}

/// Returns the descriptors of this process that are connected to the port.
std::set<int> connections_to(std::uint16_t port) {
    std::set<int> found;
    DIR* const directory = ::opendir("/proc/self/fd");
    while (const dirent* entry = directory == nullptr ? nullptr : ::readdir(directory)) {
        const auto fd = base::parse_uint(entry->d_name);
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        if (fd && ::getpeername(static_cast<int>(*fd), reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
            peer.sin_family == AF_INET && ntohs(peer.sin_port) == port)
            found.insert(static_cast<int>(*fd));
    }
    if (directory != nullptr)
        (void)::closedir(directory);
    return found;
}

TEST_F(Http2Test, UnacknowledgedBytesEndTheConnection) {
    ASSERT_EQ(ask("/ok").status, 200U);
    const std::set<int> connections = connections_to(server.port());
    ASSERT_EQ(connections.size(), 1U);
    unsigned ms = 0;
    socklen_t size = sizeof ms;
    ASSERT_EQ(::getsockopt(*connections.begin(), IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &size), 0);
    EXPECT_EQ(ms, 30'000U);
}

TEST_F(Http2Test, UnusedOldConnectionsAreClosed) {
    ASSERT_EQ(ask("/silence").status, 200U);
    ASSERT_EQ(ask("/ok", soon).failure, Failure::Timeout);
    ASSERT_EQ(ask("/ok", 5s).status, 200U);
    EXPECT_EQ(connections_to(server.port()).size(), 1U);
}

} // namespace
} // namespace gpuhost::http
