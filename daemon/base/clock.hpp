// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <sys/stat.h>

namespace gpuhost::base {

[[nodiscard]] std::uint64_t monotonic_us() noexcept; ///< CLOCK_MONOTONIC, since boot
[[nodiscard]] std::uint64_t realtime_us() noexcept;  ///< CLOCK_REALTIME, since 1970

/// Of what stat(2) says, by CLOCK_REALTIME's coarse ticks.
[[nodiscard]] std::uint64_t modified_us(const struct stat& st) noexcept;

/// "2026-11-22 16:00 UTC", of seconds since 1970.
[[nodiscard]] std::string utc_text(std::uint64_t seconds);

} // namespace gpuhost::base
