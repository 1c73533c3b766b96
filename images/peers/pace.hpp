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

    explicit Pace(Time now) : since_(now), last_(now) {}

    void came(std::uint64_t bytes) { bytes_ += bytes; }
    /// To be asked often. Time does not count in which nobody `waits` for what comes.
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
    Time since_; ///< later than when the period began, by the time that does not count
    Time last_;
    std::uint64_t bytes_ = 0;
};

} // namespace gpuhost::images
