// SPDX-License-Identifier: Apache-2.0
// Detects transfers that are too slow to wait for. An import blocks all other operations of the daemon
// meanwhile.
#pragma once

#include <chrono>
#include <cstdint>

namespace gpuhost::images {

class RateWatchdog {
  public:
    using Time = std::chrono::milliseconds; ///< since any fixed point
    static constexpr Time period{120'000};
    static constexpr std::uint64_t least = 8U << 20U; ///< bytes in each period

    explicit RateWatchdog(Time now) : since_(now), last_(now) {}

    void came(std::uint64_t bytes) { bytes_ += bytes; }
    /// Call it often. Time counts only while the receiver `waits` for bytes.
    [[nodiscard]] bool is_too_slow(Time now, bool waits) {
        if (!waits)
            since_ += now - last_;
        last_ = now;
        if (now - since_ < period)
            return false;
        const bool slow = bytes_ < least;
        since_ = now;
        bytes_ = 0;
        return slow;
    }

  private:
    Time since_; ///< start of the period, moved forward by the time that does not count
    Time last_;
    std::uint64_t bytes_ = 0;
};

} // namespace gpuhost::images
