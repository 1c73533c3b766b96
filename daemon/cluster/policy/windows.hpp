// SPDX-License-Identifier: Apache-2.0
// Maintenance windows: the times at which upgrades may begin. Pure functions, except that they read the
// system's time zones.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::cluster {

/// A window opens at `start` on each of `days`. It closes at the next `end`, which is on the next day unless
/// `end` is later than `start`.
struct Window {
    std::array<bool, 7> days{true, true, true, true, true, true, true}; ///< from Sunday on
    std::chrono::minutes start{0}; ///< since midnight, local time of the zone
    std::chrono::minutes end{0};
    std::string zone = "UTC"; ///< a name in the system's tzdata
};

/// Parses {"days": ["Sat", "Mon-Fri"], "start": "22:00", "end": "04:00", "timeZone": "Europe/Berlin"}. days
/// and timeZone are optional.
[[nodiscard]] base::Result<Window> parse_window(const base::Json& value);

struct WindowState {
    bool open = true;
    /// Seconds since 1970 when the state changes or must be checked again; nullopt: never.
    std::optional<std::int64_t> until;
    std::string reason; ///< for people
};

/// Returns the state of `windows` at `seconds` since 1970. Without windows the state is always open. A local
/// time that the clocks skip counts as the moment of the skip. If a local time occurs twice, a window begins
/// at the first occurrence and ends at the second.
[[nodiscard]] WindowState window_at(const std::vector<Window>& windows, std::int64_t seconds);

} // namespace gpuhost::cluster
