// SPDX-License-Identifier: Apache-2.0
#include "images/registry/server.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/pki.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using base::UniqueFd;

class Nothing : public RegistryService {
  public:
    [[nodiscard]] RegistryAnswer answer(const RegistryCall& call) override {
        RegistryAnswer answer =
            error_answer(call, {RegistryErrorCode::Unsupported, status, "nothing is here"});
        if (status == 304) {
            answer.text.clear();
            answer.part = {0, 7};
        }
        return answer;
    }
    [[nodiscard]] RegistryMetrics& metrics() override { return metrics_; }

    unsigned status = 404;

  private:
    RegistryMetrics metrics_;
};

sockaddr_in address_of(const std::string& host, in_port_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = port;
    EXPECT_EQ(::inet_pton(AF_INET, host.c_str(), &address.sin_addr), 1);
    return address;
}

UniqueFd bound_socket(const std::string& host) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = address_of(host, 0);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
}

/// A server on loopback, and idle clients. The server waits for requests of accepted clients.
class ServerTest : public ::testing::Test {
  protected:
    ServerTest() {
        sockets_.push_back(bound_socket("127.0.0.1"));
        sockaddr_in address{};
        socklen_t size = sizeof address;
        EXPECT_EQ(::getsockname(sockets_[0].get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
        EXPECT_EQ(::listen(sockets_[0].get(), 128), 0);
        port_ = address.sin_port;
    }
    /// Returns the identity's key with the certificate of `site`.
    [[nodiscard]] TlsKeys keys(const tests::Identity& own) const {
        return {site_.certificate, site_.certificate, own.key};
    }
    [[nodiscard]] base::Result<void> start(std::optional<TlsKeys> keys, const ServerLimits& limits = {}) {
        GPUHOST_TRY(server, RegistryServer::start(
                                service_, sockets_, limits, [](const std::string&) {}, std::move(keys)));
        server_ = std::move(server);
        return {};
    }
    void connect(std::size_t count, const std::string& from = "127.0.0.1") {
        const sockaddr_in address = address_of("127.0.0.1", port_);
        for (; count > 0; --count) {
            clients_.push_back(bound_socket(from));
            ASSERT_EQ(
                ::connect(clients_.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
                0);
        }
    }
    [[nodiscard]] static bool is_shut(const UniqueFd& client) {
        pollfd look{client.get(), POLLIN, 0};
        char byte = 0;
        return ::poll(&look, 1, 0) == 1 && ::read(client.get(), &byte, 1) <= 0;
    }
    /// Waits until this many clients are accepted and refused. Returns false after the time limit.
    [[nodiscard]] bool comes_to(int let_in, std::ptrdiff_t shut) {
        return tests::eventually([&] {
            return service_.metrics().connections() == let_in &&
                   std::count_if(clients_.begin(), clients_.end(), is_shut) == shut;
        });
    }

    /// Returns the bytes of the first read.
    std::string answer_to(const std::string& head) {
        connect(1);
        const int fd = clients_.back().get();
        EXPECT_EQ(::write(fd, head.data(), head.size()), static_cast<ssize_t>(head.size()));
        std::string answer(4096, '\0');
        answer.resize(
            static_cast<std::size_t>(std::max<ssize_t>(0, ::read(fd, answer.data(), answer.size()))));
        return answer;
    }

    Nothing service_;
    tests::Identity site_ = tests::make_identity({});
    std::vector<UniqueFd> sockets_;
    in_port_t port_ = 0;
    std::unique_ptr<RegistryServer> server_;
    std::vector<UniqueFd> clients_;
};

TEST_F(ServerTest, ConnectionsOfAPeerAreLimited) {
    ASSERT_TRUE(start(keys(site_)));
    ASSERT_NO_FATAL_FAILURE(connect(40));
    EXPECT_TRUE(comes_to(32, 8)) << service_.metrics().connections();
    ASSERT_NO_FATAL_FAILURE(connect(1, "127.0.0.2"));
    EXPECT_TRUE(comes_to(33, 8)) << "another peer has its own limit";
    std::erase_if(clients_, [](const UniqueFd& client) { return is_shut(client); });
    clients_.erase(clients_.begin());
    EXPECT_TRUE(comes_to(32, 0)) << "closed connections are not counted";
    ASSERT_NO_FATAL_FAILURE(connect(1));
    EXPECT_TRUE(comes_to(33, 0)) << "a new connection is accepted again";
}

sockaddr_storage storage_of(const char* text) {
    sockaddr_storage storage{};
    auto& six = reinterpret_cast<sockaddr_in6&>(storage);
    auto& four = reinterpret_cast<sockaddr_in&>(storage);
    if (::inet_pton(AF_INET, text, &four.sin_addr) == 1)
        storage.ss_family = AF_INET;
    else if (::inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
        storage.ss_family = AF_INET6;
    return storage;
}

TEST(PeerAddress, EachHostOfANetworkHasItsOwn) {
    const auto address = [](const char* text) { return peer_address(storage_of(text)); };
    EXPECT_NE(address("2001:db8::1"), address("2001:db8::ffff:2"));
    EXPECT_EQ(address("::ffff:10.0.0.1"), address("10.0.0.1"));
    EXPECT_EQ(address("none"), "");
}

TEST(PeerNetwork, AddressesOfOnePrefixAreOneNetwork) {
    const auto network = [](const char* text) { return peer_network(storage_of(text)); };
    EXPECT_EQ(network("2001:db8::1"), network("2001:db8::ffff:2"));
    EXPECT_NE(network("2001:db8::1"), network("2001:db8:0:1::1"));
    EXPECT_NE(network("10.0.0.1"), network("10.0.0.2"));
    EXPECT_EQ(network("::ffff:10.0.0.1"), network("10.0.0.1"));
    EXPECT_EQ(network("none"), "");
}

/// All runtimes of a host have the same address.
TEST_F(ServerTest, ConnectionsOfThisHostAreNotLimited) {
    ASSERT_TRUE(start({}));
    ASSERT_NO_FATAL_FAILURE(connect(40));
    EXPECT_TRUE(comes_to(40, 0)) << service_.metrics().connections();
}

TEST_F(ServerTest, IdleConnectionsAreClosed) {
    ASSERT_TRUE(start({}, {.patience = std::chrono::seconds(0)}));
    ASSERT_NO_FATAL_FAILURE(connect(3));
    ASSERT_TRUE(comes_to(3, 0));
    server_->end_slow();
    EXPECT_TRUE(comes_to(0, 3));
}

TEST_F(ServerTest, IdleConnectionsGiveWayToNewOnes) {
    ASSERT_TRUE(start({}, {.threads = 1, .connections = 8}));
    ASSERT_NO_FATAL_FAILURE(connect(6));
    ASSERT_TRUE(comes_to(6, 0));
    for (std::ptrdiff_t more = 1; more <= 20; ++more) {
        ASSERT_NO_FATAL_FAILURE(connect(1));
        ASSERT_TRUE(comes_to(6, more)) << "the longest idle connection is closed";
    }
    EXPECT_FALSE(is_shut(clients_.back()));
}

TEST_F(ServerTest, KeptConnectionIsClosedForANewClient) {
    ASSERT_TRUE(start({}, {.threads = 1, .connections = 8}));
    for (int kept = 1; kept <= 6; ++kept)
        ASSERT_EQ(answer_to("GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n").rfind("HTTP/1.1 404", 0), 0U);
    EXPECT_EQ(answer_to("GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n").rfind("HTTP/1.1 404", 0), 0U);
    EXPECT_TRUE(comes_to(6, 1));
}

TEST_F(ServerTest, RequestWithTwoHostsIsRefused) {
    ASSERT_TRUE(start({}));
    const auto answer_to = [this](const std::string& head) {
        const std::string answer = this->answer_to(head);
        return answer.substr(0, answer.find("\r\n"));
    };
    EXPECT_EQ(answer_to("GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 404 Not Found");
    EXPECT_EQ(answer_to("GET http://a/v2/ HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 404 Not Found");
    EXPECT_EQ(answer_to("GET /v2/ HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"), "HTTP/1.1 400 Bad Request");
}

TEST_F(ServerTest, NotModifiedHasTheContentLength) {
    service_.status = 304;
    ASSERT_TRUE(start({}));
    const std::string answer = answer_to("GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_NE(answer.find("Content-Length: 7\r\n"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("\r\n\r\n") + 4, answer.size()) << "without a body";
    EXPECT_EQ(answer.rfind("HTTP/1.1 304", 0), 0U) << answer;
}

/// A renewed certificate may mismatch its key for a moment. The caller refuses clients meanwhile.
TEST_F(ServerTest, FailedStartKeepsTheSocketsOpen) {
    EXPECT_FALSE(start(keys(tests::make_identity({}))));
    ASSERT_NO_FATAL_FAILURE(connect(1));
    const UniqueFd accepted(::accept4(sockets_[0].get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(accepted);
    ASSERT_TRUE(start(keys(site_)));
    ASSERT_NO_FATAL_FAILURE(connect(1));
    EXPECT_TRUE(comes_to(1, 0));
}

} // namespace
} // namespace gpuhost::images
