// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gpuhost::base {

[[nodiscard]] std::uint64_t monotonic_us() noexcept; ///< CLOCK_MONOTONIC, since boot
[[nodiscard]] std::uint64_t realtime_us() noexcept;  ///< CLOCK_REALTIME, since 1970

} // namespace gpuhost::base
