// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

namespace gpuhost::base {

/// Admits a limited number of events in each interval. Used for log lines that are caused by requests from
/// outside. Thread-safe.
class RateLimit {
  public:
    RateLimit(unsigned most, std::uint64_t interval_us) : most_(most), interval_us_(interval_us) {}

    /// Returns nullopt if the event exceeds the limit. Otherwise returns the number of events that were
    /// refused since the last admitted one.
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
