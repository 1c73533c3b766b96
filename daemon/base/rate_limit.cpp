// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/rate_limit.hpp"

#include <utility>

namespace gpuhost::base {

std::optional<std::uint64_t> RateLimit::admit(std::uint64_t now_us) {
    const std::lock_guard lock(mutex_);
    if (now_us - began_us_ >= interval_us_) {
        began_us_ = now_us;
        admitted_ = 0;
    }
    if (admitted_ == most_) {
        ++refused_;
        return std::nullopt;
    }
    ++admitted_;
    return std::exchange(refused_, 0);
}

} // namespace gpuhost::base
