// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/connections.hpp"

#include <cerrno>

#include <sys/timerfd.h>

namespace gpuhost::http {

using base::UniqueFd;

namespace {

int on_socket(CURL* /*easy*/, curl_socket_t fd, int what, void* self, void* /*own*/) noexcept {
    const auto& connections = *static_cast<Connections*>(self);
    const int poll = connections.poll;
    if (what == CURL_POLL_REMOVE) {
        (void)::epoll_ctl(poll, EPOLL_CTL_DEL, fd, nullptr);
        return 0;
    }
    epoll_event event = connections.event(
        ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U), fd);
    // libcurl may close a socket without a call of this function, so `fd` may be the number of an earlier
    // socket.
    if (::epoll_ctl(poll, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
        (void)::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    return 0;
}

int on_timer(CURLM* /*multi*/, long ms, void* self) noexcept {
    static_cast<Connections*>(self)->arm(ms);
    return 0;
}

} // namespace

Connections::~Connections() {
    for (const auto& [id, transfer] : running)
        (void)curl_multi_remove_handle(multi.get(), transfer->easy.get());
}

bool Connections::start(std::size_t most_idle_connections) {
    timer = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    multi.reset(curl_multi_init());
    epoll_event expiry = event(EPOLLIN, timer.get());
    if (!timer || !multi || ::epoll_ctl(poll, EPOLL_CTL_ADD, timer.get(), &expiry) < 0)
        return false;
    (void)curl_multi_setopt(multi.get(), CURLMOPT_SOCKETFUNCTION, &on_socket);
    (void)curl_multi_setopt(multi.get(), CURLMOPT_SOCKETDATA, this);
    (void)curl_multi_setopt(multi.get(), CURLMOPT_TIMERFUNCTION, &on_timer);
    (void)curl_multi_setopt(multi.get(), CURLMOPT_TIMERDATA, this);
    (void)curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(most_idle_connections));
    return true;
}

epoll_event Connections::event(unsigned events, int fd) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = std::uint64_t{number} << 32U | static_cast<std::uint32_t>(fd);
    return event;
}

void Connections::arm(long ms) const {
    // timerfd_settime(2) stops the timer for 0, so 0 becomes one nanosecond.
    itimerspec when{};
    if (ms >= 0) {
        when.it_value.tv_sec = ms / 1000;
        when.it_value.tv_nsec = ms % 1000 * 1'000'000 + (ms == 0 ? 1 : 0);
    }
    (void)::timerfd_settime(timer.get(), 0, &when, nullptr);
}

void Connections::remove(std::uint64_t id) {
    const auto found = running.find(id);
    if (found == running.end())
        return;
    (void)curl_multi_remove_handle(multi.get(), found->second->easy.get());
    running.erase(found);
}

} // namespace gpuhost::http
