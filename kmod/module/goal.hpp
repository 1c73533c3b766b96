// SPDX-License-Identifier: Apache-2.0
// Modules that should be in the kernel, as values that travel in a step's args.
#pragma once

#include "daemon/base/json.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpuhost::kmod {

struct GoalModule {
    std::string name;       ///< as the kernel says it: "nvidia_uvm"
    std::string path;       ///< of its file; empty: found in the distribution's index when needed
    std::string version;    ///< what /sys/module/<name>/version must say; empty: don't care
    std::string srcversion; ///< likewise
    std::vector<std::string> depends;
    std::string parameters; ///< "NVreg_EnableGpuFirmware=1 …"
    bool optional = false;  ///< that it does not load is worth a note, not a rollback
};

struct Goal {
    std::string version; ///< of the driver; empty: no NVIDIA driver
    std::vector<GoalModule> modules;
};

[[nodiscard]] base::Json to_json(const Goal& goal);
[[nodiscard]] Goal goal_from_json(const base::Json& value);

/// "nvidia.NVreg_A=1 nvidia-uvm.b=2" by module, in the kernel's spelling. Words of another form are left out.
[[nodiscard]] std::map<std::string, std::string> split_parameters(const std::vector<std::string>& words);

} // namespace gpuhost::kmod
