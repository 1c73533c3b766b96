// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/client.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/rpc/connection.hpp"
#include "daemon/rpc/poller.hpp"
#include "daemon/rpc/socket.hpp"

#include <cerrno>

#include <poll.h>
#include <sys/epoll.h>

namespace gpuhost::rpc {

using base::Errc;
using base::Result;

namespace {

constexpr std::uint64_t connection_key = 1;

} // namespace

struct UnaryCall::State {
    Poller poller;
    Connection connection;
    std::unique_ptr<ClientSession> session;
    std::string method;
    std::uint64_t deadline_us = 0;
    std::uint32_t events = EPOLLIN;

    void send() {
        const auto written =
            connection.write(base::monotonic_us(), [this](std::string& bytes) { session->output(bytes); });
        if (!written)
            session->end();
        const std::uint32_t wanted = EPOLLIN | (connection.stalled_since() ? EPOLLOUT : 0U);
        if (wanted != events && poller.change(connection.get(), wanted, connection_key))
            events = wanted;
    }

    void receive() {
        const auto bytes = connection.read();
        if (!bytes)
            session->end();
        else if (!bytes->empty())
            session->receive(*bytes);
    }
};

Result<UnaryCall> UnaryCall::start(const std::string& path, UnaryRequest request) {
    const std::uint64_t deadline_us =
        base::monotonic_us() + static_cast<std::uint64_t>(request.deadline.count()) * 1000;
    std::string method = request.method;
    GPUHOST_TRY(poller, Poller::make());
    GPUHOST_TRY(fd, connect_to(path));
    GPUHOST_CHECK(poller.add(fd.get(), EPOLLIN, connection_key));
    GPUHOST_TRY(session, ClientSession::make(std::move(request)));
    poller.wake_at(deadline_us);
    UnaryCall call(std::unique_ptr<State>(new State{std::move(poller), Connection(std::move(fd)),
                                                    std::move(session), std::move(method), deadline_us}));
    call.state_->send();
    return call;
}

UnaryCall::UnaryCall(std::unique_ptr<State> state) : state_(std::move(state)) {}
UnaryCall::UnaryCall(UnaryCall&&) noexcept = default;
UnaryCall& UnaryCall::operator=(UnaryCall&&) noexcept = default;
UnaryCall::~UnaryCall() = default;

int UnaryCall::descriptor() const {
    return state_->poller.descriptor();
}

std::optional<Result<std::string>> UnaryCall::work() {
    if (!state_->poller.ready().empty()) {
        state_->receive();
        state_->send();
    }
    const bool is_late = base::monotonic_us() >= state_->deadline_us;
    // The server knows the deadline, too: it may have reset the call before this is noticed here.
    if (auto answer = state_->session->answer(); answer && (*answer || !is_late))
        return answer;
    if (is_late)
        return base::fail(Errc::Timeout, state_->method + ": no answer in time");
    return std::nullopt;
}

Result<std::string> UnaryCall::wait() {
    for (;;) {
        if (auto answer = work())
            return std::move(*answer);
        pollfd descriptor{state_->poller.descriptor(), POLLIN, 0};
        if (::poll(&descriptor, 1, -1) < 0 && errno != EINTR)
            return base::fail_errno("waiting for an answer", errno);
    }
}

} // namespace gpuhost::rpc
