// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <sys/stat.h>

namespace gpuhost::base {

[[nodiscard]] std::uint64_t monotonic_us() noexcept; ///< CLOCK_MONOTONIC, since boot
[[nodiscard]] std::uint64_t realtime_us() noexcept;  ///< CLOCK_REALTIME, since 1970

/// Returns stat(2)'s modification time in microseconds since 1970. The kernel sets it with the resolution of
/// CLOCK_REALTIME_COARSE: some milliseconds.
[[nodiscard]] std::uint64_t modified_us(const struct stat& st) noexcept;

/// Returns "2026-11-22 16:00 UTC" for seconds since 1970.
[[nodiscard]] std::string utc_text(std::uint64_t seconds);
/// Returns "2026-11-22 16:00:05" in local time; "?" if the time can't be represented.
[[nodiscard]] std::string local_text(std::uint64_t seconds);

} // namespace gpuhost::base
