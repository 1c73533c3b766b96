// SPDX-License-Identifier: Apache-2.0
#include "images/registry_server.hpp"
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
        return error_answer(call, {RegistryErrorCode::Unsupported, 404, "nothing is here"});
    }
    [[nodiscard]] RegistryMetrics& metrics() override { return metrics_; }

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

/// A server on loopback, and clients that say nothing: those whom it let in, it waits for.
class AServer : public ::testing::Test {
  protected:
    AServer() {
        sockets_.push_back(bound_socket("127.0.0.1"));
        sockaddr_in address{};
        socklen_t size = sizeof address;
        EXPECT_EQ(::getsockname(sockets_[0].get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
        EXPECT_EQ(::listen(sockets_[0].get(), 128), 0);
        port_ = address.sin_port;
    }
    /// With the key of that one and the certificate of `site`.
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
    /// Whether it comes to that many who are let in and that many who are turned away.
    [[nodiscard]] bool comes_to(int let_in, std::ptrdiff_t shut) {
        return tests::eventually([&] {
            return service_.metrics().connections() == let_in &&
                   std::count_if(clients_.begin(), clients_.end(), is_shut) == shut;
        });
    }

    Nothing service_;
    tests::Identity site_ = tests::make_identity({});
    std::vector<UniqueFd> sockets_;
    in_port_t port_ = 0;
    std::unique_ptr<RegistryServer> server_;
    std::vector<UniqueFd> clients_;
};

TEST_F(AServer, LetsInSoManyOfAPeersConnections) {
    ASSERT_TRUE(start(keys(site_)));
    ASSERT_NO_FATAL_FAILURE(connect(40));
    EXPECT_TRUE(comes_to(32, 8)) << service_.metrics().connections();
    ASSERT_NO_FATAL_FAILURE(connect(1, "127.0.0.2"));
    EXPECT_TRUE(comes_to(33, 8)) << "another peer has places of its own";
    std::erase_if(clients_, [](const UniqueFd& client) { return is_shut(client); });
    clients_.erase(clients_.begin());
    EXPECT_TRUE(comes_to(32, 0)) << "who went away";
    ASSERT_NO_FATAL_FAILURE(connect(1));
    EXPECT_TRUE(comes_to(33, 0)) << "has left a place";
}

/// All runtimes of a host come from one address.
TEST_F(AServer, LetsInAllOfItsOwnHost) {
    ASSERT_TRUE(start({}));
    ASSERT_NO_FATAL_FAILURE(connect(40));
    EXPECT_TRUE(comes_to(40, 0)) << service_.metrics().connections();
}

TEST_F(AServer, ShutsConnectionsThatAskForNothing) {
    ASSERT_TRUE(start({}, {.patience = std::chrono::seconds(0)}));
    ASSERT_NO_FATAL_FAILURE(connect(3));
    ASSERT_TRUE(comes_to(3, 0));
    server_->end_slow();
    EXPECT_TRUE(comes_to(0, 3));
}

/// While certificates are renewed they may not fit: whoever comes meanwhile is for the caller to turn away.
TEST_F(AServer, LeavesTheSocketsWhereItDoesNotStart) {
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
