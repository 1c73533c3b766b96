// SPDX-License-Identifier: Apache-2.0
// Maintenance windows: at which times upgrades may begin. Pure, but for the system's time zones.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/result.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::cluster {

/// From `start` on, on each of `days`, until it is next `end`: over midnight, where that is not later in the day.
struct Window {
    std::array<bool, 7> days{true, true, true, true, true, true, true}; ///< from Sunday on
    std::chrono::minutes start{0}; ///< since midnight, on the zone's clocks
    std::chrono::minutes end{0};
    std::string zone = "UTC"; ///< of the system's tzdata
};

/// {"days": ["Sat", "Mon-Fri"], "start": "22:00", "end": "04:00", "timeZone": "Europe/Berlin"}; days and timeZone may be
/// left out.
[[nodiscard]] base::Result<Window> parse_window(const base::Json& value);

struct WindowState {
    bool open = true;
    std::optional<std::int64_t>
        until;          ///< seconds since 1970 when that changes, or is to be asked again; none: never
    std::string reason; ///< for people
};

/// Without a window it is always open. A time that the clocks skip is when they skip it; of one that they show twice a
/// window begins at the first and ends at the second.
[[nodiscard]] WindowState window_at(const std::vector<Window>& windows, std::int64_t seconds);

} // namespace gpuhost::cluster
