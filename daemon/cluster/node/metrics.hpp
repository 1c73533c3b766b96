// SPDX-License-Identifier: Apache-2.0
// Writes the metrics of gpuhost-cluster for Prometheus.
#pragma once

#include "daemon/base/json_fwd.hpp"

#include <string>

namespace gpuhost::cluster {

/// Returns the metrics for `status`, the document of `gpuhostctl cluster status --json`. The leader's
/// document also has the numbers of the fleet. Some of these numbers are also written under the names of the
/// GPU Operator's metrics.
[[nodiscard]] std::string metrics_text(const base::Json& status);

} // namespace gpuhost::cluster
