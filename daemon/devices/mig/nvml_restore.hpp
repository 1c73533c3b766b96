// SPDX-License-Identifier: Apache-2.0
// Creates MIG instances by NVML. For gpuhost-nvml alone: the library may hang or crash.
#pragma once

#include "daemon/devices/mig/geometry.hpp"
#include "daemon/devices/mig/restored.hpp"
#include "daemon/runtime/gpu/nvml_library.hpp"

#include <vector>

namespace gpuhost::devices {

/// Makes the GPUs in `saved` that are split as they were: switches the MIG mode on, and creates missing
/// instances with their placements. Instances that exist stay. Returns one result for each of the GPUs. With
/// Restore::all_or_none it changes nothing if it knows beforehand that the driver refuses the instances of
/// one GPU. If the driver fails later, the instances that were created stay. With Restore::after_boot it
/// leaves alone a GPU of the Ampere generation with the MIG mode off: its mode lasts over reboots, so a
/// person has switched it off.
[[nodiscard]] std::vector<RestoredGpu> restore_geometry(const runtime::NvmlLibrary& library,
                                                        const Geometry& saved, Restore scope);

} // namespace gpuhost::devices
