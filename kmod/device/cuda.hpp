// SPDX-License-Identifier: Apache-2.0
// Runs a computation on every GPU through the driver's own CUDA library: a kernel can run a driver whose GPUs
// cannot compute. Only for workers, in a process of its own: it runs the vendor's code, which may hang with
// the GPU.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Adds two vectors on each device that CUDA shows, and compares the sums. The driver compiles the program
/// from PTX. `library` is the path of libcuda.so.1 as this process sees it. Returns the devices' PCI
/// addresses; empty if CUDA shows none. Fails with Busy if the GPUs wait for the fabric manager of their
/// NVSwitches.
[[nodiscard]] base::Result<std::vector<std::string>> add_vectors(const std::string& library);

} // namespace gpuhost::kmod
