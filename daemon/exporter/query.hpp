// SPDX-License-Identifier: Apache-2.0
// Reads gpuhostd's documents over D-Bus, in bounded time.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/exporter/metrics.hpp"

#include <chrono>

namespace gpuhost::exporter {

/// Blocks until gpuhostd has answered, at most `deadline`. Does not start gpuhostd. Fails with Timeout if
/// gpuhostd or the bus does not answer.
[[nodiscard]] base::Result<Documents> query(std::chrono::milliseconds deadline);

} // namespace gpuhost::exporter
