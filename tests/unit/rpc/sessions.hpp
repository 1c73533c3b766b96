// SPDX-License-Identifier: Apache-2.0
// A server's session with services that tests use, and a client's session that reads its answers.
#pragma once

#include "daemon/rpc/client_session.hpp"
#include "daemon/rpc/server_session.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::tests {

/// "t.T" with Echo, which answers with the request; Watch, which sends to watchers; Later, which keeps calls;
/// Forget, which drops them; Fail, whose error has the request as its text.
struct TestService {
    rpc::Watchers watchers;
    std::vector<rpc::Call> kept;
    int cancelled = 0;

    [[nodiscard]] rpc::Service make() {
        rpc::Service service{"t.T", {}};
        service.methods["Echo"] = [](std::string_view message, const rpc::Call& call) {
            call.answer(std::string(message));
        };
        service.methods["Watch"] = [this](std::string_view, const rpc::Call& call) {
            call.on_cancel([this] { ++cancelled; });
            watchers.add(call);
        };
        service.methods["Later"] = [this](std::string_view, const rpc::Call& call) {
            call.on_cancel([this] { ++cancelled; });
            kept.push_back(call);
        };
        service.methods["Forget"] = [](std::string_view, const rpc::Call&) {};
        service.methods["Fail"] = [](std::string_view message, const rpc::Call& call) {
            call.end(base::fail(base::Errc::NotFound, std::string(message)));
        };
        return service;
    }
};

/// The two ends of a connection, without a socket.
class Sessions {
  public:
    explicit Sessions(const rpc::Limits& limits = {}) : services({service.make()}) {
        server = *rpc::ServerSession::make(services, limits, [this] { ++woken; });
    }

    /// Makes a client with a request on stream 1. Returns the client's first bytes.
    std::string begin(const std::string& method, std::string message = {}) {
        client = *rpc::ClientSession::make({"/t.T/" + method, std::move(message)});
        std::string bytes;
        client->output(bytes);
        return bytes;
    }
    /// Sends bytes to the server, in one piece.
    void send(std::string_view bytes) { server->receive(bytes, ++now_us); }
    /// Lets the client read what the server has to send. Returns the client's result.
    std::optional<base::Result<std::string>> answer() {
        for (std::string bytes;; bytes.clear()) {
            server->output(bytes);
            if (bytes.empty())
                return client->answer();
            sent += bytes.size();
            client->receive(bytes);
        }
    }
    /// Makes a call of a method, with real bytes in both directions.
    std::optional<base::Result<std::string>> call(const std::string& method, std::string message) {
        std::string bytes = begin(method, std::move(message));
        while (!bytes.empty() && !client->answer()) {
            send(bytes);
            (void)answer();
            bytes.clear();
            client->output(bytes);
        }
        return client->answer();
    }
    /// Sends a raw request to a method, and returns the client's result.
    std::optional<base::Result<std::string>> raw(std::string_view bytes) {
        (void)begin("Echo");
        send(bytes);
        return answer();
    }

    TestService service;
    std::vector<rpc::Service> services;
    std::unique_ptr<rpc::ServerSession> server;
    std::unique_ptr<rpc::ClientSession> client;
    std::uint64_t now_us = 1;
    std::size_t sent = 0;
    int woken = 0;
};

} // namespace gpuhost::tests
