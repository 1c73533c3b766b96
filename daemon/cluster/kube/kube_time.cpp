// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/kube_time.hpp"

#include "daemon/base/clock.hpp"

#include <cstdio>
#include <ctime>

namespace gpuhost::cluster {
namespace {

constexpr std::uint64_t second_us = 1'000'000;

std::string without_zone(std::uint64_t realtime_us) {
    const std::time_t seconds = static_cast<std::time_t>(realtime_us / second_us);
    std::tm parts{};
    (void)::gmtime_r(&seconds, &parts);
    char text[sizeof "2026-11-23T16:00:00"] = {};
    (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    return text;
}

} // namespace

std::int64_t unix_now() {
    return static_cast<std::int64_t>(base::realtime_us() / second_us);
}

std::string kube_time(std::uint64_t realtime_us) {
    return without_zone(realtime_us) + "Z";
}

std::string kube_micro_time(std::uint64_t realtime_us) {
    char fraction[sizeof ".123456Z"] = {};
    (void)std::snprintf(fraction, sizeof fraction, ".%06uZ", static_cast<unsigned>(realtime_us % second_us));
    return without_zone(realtime_us) + fraction;
}

std::optional<std::int64_t> kube_seconds(const std::string& time) {
    std::tm parts{};
    const char* const rest = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == nullptr || time.back() != 'Z')
        return std::nullopt;
    return ::timegm(&parts);
}

} // namespace gpuhost::cluster
