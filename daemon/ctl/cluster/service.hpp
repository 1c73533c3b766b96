// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

/// Runs systemctl with these words and the argument gpuhost-cluster.service.
[[nodiscard]] base::Result<void> control_cluster_service(const std::vector<std::string>& words);

/// Returns the error (NotFound) that gpuhost-cluster has written no status. `sub_state` is the property
/// SubState of its unit, such as "start" or "auto-restart"; empty: not known.
[[nodiscard]] base::Error no_cluster_status(std::string_view sub_state);
/// Asks systemd for the property. Asks nothing about a mounted system.
[[nodiscard]] base::Error no_cluster_status(const base::Root& root);

} // namespace gpuhost::ctl
