// SPDX-License-Identifier: Apache-2.0
// Computes the wait before a retry: doubles it each time, with random jitter. Without jitter, many hosts that
// lost the same server would reconnect at the same moment.
#pragma once

#include "daemon/base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

namespace gpuhost::cluster {

using Time = std::chrono::milliseconds; ///< on the monotonic clock

[[nodiscard]] inline Time now() {
    return Time(static_cast<Time::rep>(base::monotonic_us() / 1000));
}

/// Sets `due` to `other` if that is earlier.
inline void sooner(std::optional<Time>& due, std::optional<Time> other) {
    if (other)
        due = due ? std::min(*due, *other) : *other;
}

class Backoff {
  public:
    Backoff(Time first, Time most) : first_(first), most_(most), next_(first) {}

    /// Returns a random time from half to one and a half of the current wait.
    [[nodiscard]] Time next() {
        const Time due = next_;
        next_ = std::min(most_, next_ * 2);
        return Time(std::uniform_int_distribution<Time::rep>(due.count() / 2, due.count() * 3 / 2)(random_));
    }
    void reset() { next_ = first_; }

  private:
    Time first_;
    Time most_;
    Time next_;
    std::minstd_rand random_{std::random_device{}()};
};

} // namespace gpuhost::cluster
