// SPDX-License-Identifier: Apache-2.0
// Runs a computation on every GPU through the driver's CUDA library. This finds GPUs that cannot compute
// although the kernel has loaded the driver. Call it only in a child process of a worker (isolated.hpp): it
// runs code of the vendor, which may hang with the GPU.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Adds two vectors on each device that CUDA lists, and checks the sums. The driver compiles the program from
/// PTX. `library` is the path of libcuda.so.1, which this process opens. Returns the PCI addresses of the
/// devices; empty if CUDA lists none. Fails with Busy if the GPUs wait for the fabric manager of their
/// NVSwitches.
[[nodiscard]] base::Result<std::vector<std::string>> add_vectors(const std::string& library);

} // namespace gpuhost::kmod
