// SPDX-License-Identifier: Apache-2.0
// The part of administrators in the health of devices: two settings, and what 'gpuhostctl gpu mark' and
// 'gpuhostctl gpu clear' have requested.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

/// A device that an administrator has made unhealthy.
struct Mark {
    std::string uuid;
    std::string reason;
    std::int64_t since_us = 0; ///< CLOCK_REALTIME
    friend bool operator==(const Mark&, const Mark&) = default;
};

/// Ends the faults that a device had when gpuhost-devices saw the clear first.
struct Clear {
    std::string uuid;
    std::int64_t time_us = 0; ///< CLOCK_REALTIME; only tells clears of one device apart
    friend bool operator==(const Clear&, const Clear&) = default;
};

struct HealthRules {
    std::vector<unsigned> ignore_xids; ///< errors that are not evaluated
    std::vector<unsigned> fatal_xids;  ///< errors that last until a restart of the host or a clear
    std::vector<Mark> marks;
    std::vector<Clear> clears;
    friend bool operator==(const HealthRules&, const HealthRules&) = default;
};

inline constexpr unsigned largest_xid = 9999;
inline constexpr std::size_t most_marks = 256;   ///< also of clears
inline constexpr std::size_t longest_mark = 200; ///< bytes of its reason

///   {"ignore_xids": [13], "fatal_xids": [48], "marks": [{"uuid", "reason", "since_us"}],
///    "clears": [{"uuid", "time_us"}]}
[[nodiscard]] base::Json to_json(const HealthRules& rules);
/// Returns empty rules for null. Fails with BadContent for a mark or clear without a UUID, and for too many.
[[nodiscard]] base::Result<HealthRules> health_rules_from_json(const base::Json& value);

/// Returns true if the text is safe as the UUID of a GPU or a MIG instance.
[[nodiscard]] bool is_device_uuid(std::string_view text);

} // namespace gpuhost::devices
