// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/server.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/rate_limit.hpp"
#include "daemon/rpc/acceptor.hpp"
#include "daemon/rpc/connection.hpp"
#include "daemon/rpc/poller.hpp"
#include "daemon/rpc/server_session.hpp"

#include <algorithm>
#include <map>

#include <sys/epoll.h>

namespace gpuhost::rpc {

using base::Result;
using base::UniqueFd;

namespace {

constexpr std::uint64_t listening_key = 1;
constexpr unsigned most_problems = 10; ///< that are reported in a minute
constexpr std::uint64_t minute_us = 60'000'000;
constexpr int most_accepted = 16; ///< in one call of work()

struct Client {
    Client(UniqueFd fd, Peer process) : connection(std::move(fd)), peer(process) {}
    Connection connection;
    Peer peer;
    std::unique_ptr<ServerSession> session;
    std::uint64_t used_us = 0;
    std::uint32_t events = EPOLLIN;
};

std::optional<std::uint64_t> earlier(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
    return a && b ? std::min(*a, *b) : a ? a : b;
}

} // namespace

struct Server::State {
    ServerOptions options;
    Poller poller;
    Acceptor acceptor;
    std::map<std::uint64_t, Client> clients; ///< by the poller's key
    std::uint64_t last_key = listening_key;
    base::RateLimit problems{most_problems, minute_us};

    State(ServerOptions with, ListeningSocket socket, Poller with_poller)
        : options(std::move(with)), poller(std::move(with_poller)),
          acceptor(std::move(socket), poller, listening_key, options.allow_own_user) {}

    void report(const std::string& problem) {
        const auto unreported = problems.admit(base::monotonic_us());
        if (!unreported || !options.on_problem)
            return;
        options.on_problem(*unreported == 0 ? problem
                                            : problem + ", after " + std::to_string(*unreported) +
                                                  " problems that were not reported");
    }

    void accept_all(std::uint64_t now_us) {
        for (int i = 0; i < most_accepted; ++i) {
            auto accepted = acceptor.accept(now_us);
            if (!accepted)
                return report(accepted.error().message);
            if (!accepted->fd)
                return;
            admit(std::move(*accepted), now_us);
        }
    }

    void admit(Accepted accepted, std::uint64_t now_us) {
        const std::uint64_t key = ++last_key;
        Client client(std::move(accepted.fd), accepted.peer);
        if (clients.size() >= options.limits.connections && !make_room())
            return report("refused a connection of " + name_of(client.peer) + ": too many connections");
        auto session =
            ServerSession::make(options.services, options.limits, [this, key] { watch(key, true); });
        if (!session)
            return report(session.error().message);
        if (const auto added = poller.add(client.connection.get(), EPOLLIN, key); !added)
            return report(added.error().message);
        client.session = std::move(*session);
        client.used_us = now_us;
        const auto made = clients.emplace(key, std::move(client)).first;
        made->second.session->receive({}, now_us);
        flush(made, now_us);
    }

    /// Closes the connection that has been idle for longest. An idle connection is otherwise never closed:
    /// the kubelet takes its end for the end of the plugin.
    bool make_room() {
        auto oldest = clients.end();
        for (auto client = clients.begin(); client != clients.end(); ++client)
            if (!client->second.session->has_calls() &&
                (oldest == clients.end() || client->second.used_us < oldest->second.used_us))
                oldest = client;
        if (oldest == clients.end())
            return false;
        const std::uint64_t key = oldest->first;
        oldest->second.session->shut_down();
        flush(oldest, base::monotonic_us()); // closes it if all is sent
        close(key);
        return true;
    }

    void serve(std::uint64_t key, std::uint64_t now_us) {
        const auto found = clients.find(key);
        if (found == clients.end())
            return;
        Client& client = found->second;
        const auto bytes = client.connection.read();
        if (!bytes)
            return close(key);
        if (!bytes->empty()) {
            client.used_us = now_us;
            client.session->receive(*bytes, now_us);
        }
        flush(found, now_us);
    }

    void flush(std::map<std::uint64_t, Client>::iterator at, std::uint64_t now_us) {
        auto& [key, client] = *at;
        const auto written = client.connection.write(
            now_us, [&session = *client.session](std::string& bytes) { session.output(bytes); });
        if (!client.session->failure().empty())
            return end(key, client.session->failure());
        if (!written || client.session->done())
            return close(key);
        watch(key, client.connection.stalled_since().has_value());
    }

    /// Sets whether the connection waits for its socket to accept bytes.
    void watch(std::uint64_t key, bool output) {
        const auto found = clients.find(key);
        const std::uint32_t events = EPOLLIN | (output ? EPOLLOUT : 0U);
        if (found == clients.end() || found->second.events == events)
            return;
        if (poller.change(found->second.connection.get(), events, key))
            found->second.events = events;
    }

    void end(std::uint64_t key, const std::string& why) {
        report("ended the connection of " + name_of(clients.at(key).peer) + ": " + why);
        close(key);
    }

    void close(std::uint64_t key) {
        auto node = clients.extract(key); // so that services which are called find a consistent server
        if (!node)
            return;
        poller.remove(node.mapped().connection.get());
        node.mapped().session->cancel_calls();
    }

    [[nodiscard]] std::optional<std::uint64_t> deadline_of(const Client& client) const {
        const auto since = earlier(client.session->incomplete_since(), client.connection.stalled_since());
        return since ? std::optional(*since + static_cast<std::uint64_t>(options.limits.patience.count()))
                     : std::nullopt;
    }

    void end_slow(std::uint64_t now_us) {
        std::vector<std::uint64_t> late;
        for (const auto& [key, client] : clients)
            if (const auto deadline = deadline_of(client); deadline && *deadline <= now_us)
                late.push_back(key);
        for (const std::uint64_t key : late)
            end(key, "too slow");
    }

    void set_timer() {
        std::optional<std::uint64_t> next = acceptor.paused_until();
        for (const auto& [key, client] : clients)
            next = earlier(next, deadline_of(client));
        poller.wake_at(next);
    }
};

Result<Server> Server::start(ServerOptions options) {
    GPUHOST_TRY(poller, Poller::make());
    GPUHOST_TRY(socket, ListeningSocket::make(options.path));
    auto state = std::make_unique<State>(std::move(options), std::move(socket), std::move(poller));
    GPUHOST_CHECK(state->acceptor.resume());
    return Server(std::move(state));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

int Server::descriptor() const {
    return state_->poller.descriptor();
}

void Server::work() {
    const std::uint64_t now_us = base::monotonic_us();
    for (const std::uint64_t key : state_->poller.ready())
        if (key == listening_key)
            state_->accept_all(now_us);
        else
            state_->serve(key, now_us);
    state_->end_slow(now_us);
    state_->acceptor.resume_at(now_us);
    state_->set_timer();
}

const std::string& Server::path() const {
    return state_->acceptor.path();
}

std::size_t Server::connections() const {
    return state_->clients.size();
}

} // namespace gpuhost::rpc
