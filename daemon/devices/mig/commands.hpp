// SPDX-License-Identifier: Apache-2.0
// Commands by which an administrator creates MIG instances. Pure functions of values.
#pragma once

#include "daemon/devices/mig/restore_plan.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpuhost::devices {

/// A profile of GPU instances, as the driver describes it.
struct DriverProfile {
    unsigned id = 0;     ///< 19 for 1g.10gb: the number that nvidia-smi(1) takes
    unsigned slices = 0; ///< compute slices
};
/// By the number of nvml.h.
using DriverProfiles = std::map<unsigned, DriverProfile>;

/// Returns commands that create missing instances of a GPU, in the order of their ids. `split`: the MIG mode
/// is on. Returns nothing if a profile is unknown.
[[nodiscard]] std::vector<std::string> creation_commands(const std::string& uuid, bool split,
                                                         const std::vector<Creation>& missing,
                                                         const DriverProfiles& profiles);

} // namespace gpuhost::devices
