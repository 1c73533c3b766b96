// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/poller.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace gpuhost::rpc {

using base::Result;
using base::UniqueFd;

namespace {

constexpr std::uint64_t timer_key = 0;
constexpr std::uint64_t second_us = 1'000'000;

} // namespace

Result<Poller> Poller::make() {
    UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
    UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!epoll || !timer)
        return base::fail_errno("watching descriptors", errno);
    Poller made(std::move(epoll), std::move(timer));
    GPUHOST_CHECK(made.control(EPOLL_CTL_ADD, made.timer_.get(), EPOLLIN, timer_key));
    return made;
}

Result<void> Poller::add(int fd, std::uint32_t events, std::uint64_t key) {
    return control(EPOLL_CTL_ADD, fd, events, key);
}

Result<void> Poller::change(int fd, std::uint32_t events, std::uint64_t key) {
    return control(EPOLL_CTL_MOD, fd, events, key);
}

void Poller::remove(int fd) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Result<void> Poller::control(int operation, int fd, std::uint32_t events, std::uint64_t key) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = key;
    if (::epoll_ctl(epoll_.get(), operation, fd, &event) < 0)
        return base::fail_errno("watching a descriptor", errno);
    return {};
}

void Poller::wake_at(std::optional<std::uint64_t> time_us) {
    if (time_us == wake_us_)
        return;
    wake_us_ = time_us;
    itimerspec spec{};
    if (time_us) {
        const std::uint64_t at = std::max<std::uint64_t>(*time_us, 1); // 0 would stop the timer
        spec.it_value.tv_sec = static_cast<time_t>(at / second_us);
        spec.it_value.tv_nsec = static_cast<long>(at % second_us * 1000);
    }
    (void)::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

std::vector<std::uint64_t> Poller::ready() {
    std::array<epoll_event, 16> events{};
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    std::vector<std::uint64_t> keys;
    for (int i = 0; i < n; ++i) {
        const std::uint64_t key = events.at(static_cast<std::size_t>(i)).data.u64;
        if (key != timer_key) {
            keys.push_back(key);
            continue;
        }
        std::uint64_t expirations = 0;
        (void)!::read(timer_.get(), &expirations, sizeof expirations);
        wake_us_.reset();
    }
    return keys;
}

} // namespace gpuhost::rpc
