// SPDX-License-Identifier: Apache-2.0
// Modules that should be loaded, as values for a step's args.
#pragma once

#include "daemon/base/json.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpuhost::kmod {

struct GoalModule {
    std::string name;       ///< in the kernel's spelling: "nvidia_uvm"
    std::string path;       ///< of its file; empty: looked up in the distribution's index when needed
    std::string version;    ///< required value of /sys/module/<name>/version; empty: any
    std::string srcversion; ///< required value of srcversion; empty: any
    std::vector<std::string> depends;
    std::string parameters; ///< "NVreg_EnableGpuFirmware=1 …"
    bool optional = false;  ///< a failure to load it is a note and causes no undo
};

struct ModuleGoal {
    std::string version; ///< of the driver; empty: no NVIDIA driver
    std::vector<GoalModule> modules;
};

[[nodiscard]] base::Json to_json(const ModuleGoal& goal);
[[nodiscard]] ModuleGoal goal_from_json(const base::Json& value);

/// Splits "nvidia.NVreg_A=1 nvidia-uvm.b=2" by module, in the kernel's spelling. Words of another form are
/// left out.
[[nodiscard]] std::map<std::string, std::string> split_parameters(const std::vector<std::string>& words);

} // namespace gpuhost::kmod
