// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

namespace gpuhost::base {

/// At most so many in each interval: for log lines that somebody outside causes. For many threads.
class RateLimit {
  public:
    RateLimit(unsigned most, std::uint64_t interval_us) : most_(most), interval_us_(interval_us) {}

    /// Nothing if this one is too much; otherwise how many were, since the last that was not.
    [[nodiscard]] std::optional<std::uint64_t> admit(std::uint64_t now_us);

  private:
    const unsigned most_;
    const std::uint64_t interval_us_;
    std::mutex mutex_;
    std::uint64_t began_us_ = 0;
    unsigned admitted_ = 0;
    std::uint64_t refused_ = 0;
};

} // namespace gpuhost::base
