// SPDX-License-Identifier: Apache-2.0
// A goal: the modules of one driver that should be loaded. Args of steps contain goals as JSON.
#pragma once

#include "daemon/base/json_fwd.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpuhost::kmod {

struct GoalModule {
    std::string name;                 ///< with underscores: "nvidia_uvm"
    std::string path;                 ///< path of its file; empty: searched in /lib/modules when it is loaded
    std::string version;              ///< required value of /sys/module/<name>/version; empty: any
    std::string srcversion;           ///< required value of /sys/module/<name>/srcversion; empty: any
    std::vector<std::string> depends; ///< names of the modules that it needs
    std::string parameters;           ///< "NVreg_EnableGpuFirmware=1 …"
    bool optional = false;            ///< if it does not load, this is reported, and the operation continues
};

struct ModuleGoal {
    std::string version; ///< driver version; empty: no NVIDIA driver
    std::vector<GoalModule> modules;
};

[[nodiscard]] base::Json to_json(const ModuleGoal& goal);
[[nodiscard]] ModuleGoal goal_from_json(const base::Json& value);

/// Splits parameters by module: "nvidia.NVreg_A=1" and "nvidia-uvm.b=2" become "nvidia" → "NVreg_A=1" and
/// "nvidia_uvm" → "b=2". Words of another form are left out.
[[nodiscard]] std::map<std::string, std::string> split_parameters(const std::vector<std::string>& words);

} // namespace gpuhost::kmod
