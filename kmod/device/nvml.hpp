// SPDX-License-Identifier: Apache-2.0
// Queries a driver's management library (NVML), to check that it works with the loaded modules. Call it only
// in a child process of a worker (isolated.hpp): it runs code of the vendor, which may hang with the GPU.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::kmod {

struct NvmlReport {
    std::string driver_version;
    unsigned devices = 0; ///< number of GPUs
    unsigned split = 0;   ///< GPUs with MIG enabled, with or without instances
};

/// Opens NVML and queries it. `library` is the path of libnvidia-ml.so.1, which this process opens. Fails
/// with the library's error if a query fails.
[[nodiscard]] base::Result<NvmlReport> ask_nvml(const std::string& library);

} // namespace gpuhost::kmod
