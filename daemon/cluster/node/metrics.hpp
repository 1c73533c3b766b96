// SPDX-License-Identifier: Apache-2.0
// What gpuhost-cluster says of itself, for Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/ 0.0.4.
#pragma once

#include "daemon/base/json.hpp"

#include <string>

namespace gpuhost::cluster {

/// Of the document of `gpuhostctl cluster status --json`. The fleet's numbers, under the GPU Operator's names too, are there
/// on the host that leads.
[[nodiscard]] std::string metrics_text(const base::Json& status);

} // namespace gpuhost::cluster
