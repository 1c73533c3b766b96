// SPDX-License-Identifier: Apache-2.0
// Converts Kubernetes times: RFC 3339, in UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gpuhost::cluster {

[[nodiscard]] std::int64_t unix_now();                                ///< seconds since 1970
[[nodiscard]] std::string kube_time(std::uint64_t realtime_us);       ///< "2026-11-23T16:00:00Z"
[[nodiscard]] std::string kube_micro_time(std::uint64_t realtime_us); ///< "2026-11-23T16:00:00.123456Z"
/// Parses either format into seconds since 1970.
[[nodiscard]] std::optional<std::int64_t> kube_seconds(const std::string& time);

} // namespace gpuhost::cluster
