// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

/// Runs systemctl with these words and the argument gpuhost-cluster.service.
[[nodiscard]] base::Result<void> control_cluster_service(const std::vector<std::string>& words);

} // namespace gpuhost::ctl
