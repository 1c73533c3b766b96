// SPDX-License-Identifier: Apache-2.0
// Asks gpuhost-nvml for MIG instances, and to create them.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/devices/mig/geometry.hpp"
#include "daemon/devices/mig/restored.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace gpuhost::devices {

/// Returns the MIG instances of the loaded driver's GPUs. Fails if NVML gives no answer within `patience`.
[[nodiscard]] base::Result<Geometry> ask_geometry(const base::Root& host,
                                                  std::chrono::seconds patience = std::chrono::seconds(60));

/// Creates the instances in `file`, the JSON of a geometry, by the loaded driver (restore_geometry() in
/// daemon/devices/mig/nvml_restore.hpp). Fails if the driver does not answer within `patience`.
[[nodiscard]] base::Result<std::vector<RestoredGpu>>
ask_restore(const base::Root& host, const std::string& file, Restore scope, std::chrono::seconds patience);

} // namespace gpuhost::devices
