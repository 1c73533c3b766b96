// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/acceptor.hpp"

#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gpuhost::rpc {

using base::Errc;
using base::Result;
using base::UniqueFd;

namespace {

constexpr std::uint64_t pause_us = 1'000'000;

} // namespace

std::string name_of(const Peer& peer) {
    return "process " + std::to_string(peer.pid) + " (user " + std::to_string(peer.uid) + ")";
}

Acceptor::Acceptor(ListeningSocket socket, Poller& poller, std::uint64_t key, bool allow_own_user)
    : socket_(std::move(socket)), poller_(poller), key_(key), allow_own_user_(allow_own_user) {}

Result<Accepted> Acceptor::accept(std::uint64_t now_us) {
    UniqueFd fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
        const int error = errno;
        if (error != EMFILE && error != ENFILE && error != ENOMEM && error != ENOBUFS)
            return Accepted();
        poller_.remove(socket_.get()); // it would be ready all the time
        paused_until_us_ = now_us + pause_us;
        return base::fail_errno("accepting a connection", error);
    }
    GPUHOST_TRY(peer, peer_of(fd.get()));
    if (peer.uid != 0 && !(allow_own_user_ && peer.uid == ::geteuid()))
        return base::fail(Errc::AccessDenied,
                          "refused a connection of " + name_of(peer) + ": only root may connect");
    return Accepted{std::move(fd), peer};
}

Result<void> Acceptor::resume() {
    GPUHOST_CHECK(poller_.add(socket_.get(), EPOLLIN, key_));
    paused_until_us_.reset();
    return {};
}

void Acceptor::resume_at(std::uint64_t now_us) {
    if (paused_until_us_ && *paused_until_us_ <= now_us && !resume())
        paused_until_us_ = now_us + pause_us;
}

} // namespace gpuhost::rpc
