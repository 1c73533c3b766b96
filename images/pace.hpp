// SPDX-License-Identifier: Apache-2.0
// Does enough come to be waited for? An import holds the daemon's only place for operations meanwhile.
#pragma once

#include <chrono>
#include <cstdint>

namespace gpuhost::images {

class Pace {
  public:
    using Time = std::chrono::milliseconds; ///< since whenever
    static constexpr Time period{120'000};
    static constexpr std::uint64_t least = 8U << 20U; ///< bytes in each period

    explicit Pace(Time now) : since_(now) {}

    void came(std::uint64_t bytes) { bytes_ += bytes; }
    /// Nobody waits for what comes: the time until now does not count.
    void restart(Time now) {
        since_ = now;
        bytes_ = 0;
    }
    [[nodiscard]] bool is_too_slow(Time now) {
        if (now - since_ < period)
            return false;
        const bool slow = bytes_ < least;
        restart(now);
        return slow;
    }

  private:
    Time since_;
    std::uint64_t bytes_ = 0;
};

} // namespace gpuhost::images
