// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"

#include <time.h>

namespace gpuhost::base {
namespace {

std::uint64_t now_us(clockid_t clock) noexcept {
    timespec ts{};
    (void)::clock_gettime(clock, &ts);
    return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(ts.tv_nsec) / 1'000;
}

} // namespace

std::uint64_t monotonic_us() noexcept {
    return now_us(CLOCK_MONOTONIC);
}

std::uint64_t realtime_us() noexcept {
    return now_us(CLOCK_REALTIME);
}

} // namespace gpuhost::base
