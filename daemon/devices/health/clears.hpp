// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/devices/health/fault_log.hpp"
#include "daemon/devices/inventory.hpp"

#include <vector>

namespace gpuhost::devices {

/// Applies the clears that the log has not seen yet, each once: a later error is a new fault. The clear of a
/// GPU removes its faults and required action. The clear of a MIG device leaves those to the other devices
/// of the GPU. Once each GPU was cleared, the log no longer says that errors may be missing; a marked GPU
/// does not count, because a clear ends its mark. Compares no times: the clock may be set. Returns true if
/// the log has changed.
bool apply_clears(FaultLog& log, const std::vector<Gpu>& gpus, const HealthRules& rules);

} // namespace gpuhost::devices
