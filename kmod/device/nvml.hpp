// SPDX-License-Identifier: Apache-2.0
// Asks a driver's own management library whether it works with the loaded modules. Only for workers: it runs
// the vendor's code, which may hang with the GPU.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::kmod {

struct NvmlReport {
    std::string driver_version;
    unsigned devices = 0;
    unsigned split = 0; ///< GPUs with MIG enabled, with or without instances
};

/// Loads NVML and returns its report. `library` is the path of libnvidia-ml.so.1 as this process sees it.
[[nodiscard]] base::Result<NvmlReport> ask_nvml(const std::string& library);

} // namespace gpuhost::kmod
