// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"

#include <ctime>

#include <time.h>

namespace gpuhost::base {
namespace {

std::uint64_t in_us(const timespec& ts) noexcept {
    return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(ts.tv_nsec) / 1'000;
}

std::uint64_t now_us(clockid_t clock) noexcept {
    timespec ts{};
    (void)::clock_gettime(clock, &ts);
    return in_us(ts);
}

} // namespace

std::uint64_t monotonic_us() noexcept {
    return now_us(CLOCK_MONOTONIC);
}

std::uint64_t realtime_us() noexcept {
    return now_us(CLOCK_REALTIME);
}

std::uint64_t modified_us(const struct stat& st) noexcept {
    return in_us(st.st_mtim);
}

std::string utc_text(std::uint64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    char text[32] = "?";
    if (::gmtime_r(&time, &parts) != nullptr)
        (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
    return text;
}

std::string local_text(std::uint64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    char text[32] = "?";
    if (::localtime_r(&time, &parts) != nullptr)
        (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
    return text;
}

} // namespace gpuhost::base
