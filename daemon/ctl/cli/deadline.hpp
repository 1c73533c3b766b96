// SPDX-License-Identifier: Apache-2.0
// The time at which a wait ends, from --timeout=.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/ctl/cli/arguments.hpp"

#include <chrono>
#include <optional>

namespace gpuhost::ctl {

namespace option {
inline constexpr Option timeout{"timeout", "SPAN", "give up after this time, such as '30s' or '5min'"};
}

using Deadline = std::optional<std::chrono::steady_clock::time_point>; ///< nullopt: the wait has no deadline

[[nodiscard]] base::Result<Deadline> deadline_of(const Arguments& arguments);
/// Returns the remaining time, at least 0; nullopt without a deadline.
[[nodiscard]] std::optional<std::chrono::milliseconds> time_left(const Deadline& deadline);

} // namespace gpuhost::ctl
