// SPDX-License-Identifier: Apache-2.0
// How long to wait before it is tried again: twice as long each time, and by chance a little more or less, so that many
// hosts that lost the same server do not come back to it at one moment.
#pragma once

#include "daemon/base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <random>

namespace gpuhost::cluster {

using Time = std::chrono::milliseconds; ///< on the monotonic clock

[[nodiscard]] inline Time now() {
    return Time(static_cast<Time::rep>(base::monotonic_us() / 1000));
}

class Backoff {
  public:
    Backoff(Time first, Time most) : first_(first), most_(most), next_(first) {}

    /// From half to one and a half of what is due.
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
