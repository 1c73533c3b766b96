// SPDX-License-Identifier: Apache-2.0
// Has every GPU compute something, through the driver's own CUDA library: a kernel can run a driver whose GPUs can't. In
// workers only, in one of its own: this runs the vendor's code, which may hang with the GPU.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// `library` is the path of libcuda.so.1, as this process sees it. Adds two vectors on each device that it shows, by a
/// program in PTX which the driver compiles, and compares the sums. The devices' PCI addresses; none where it shows none. Busy: the GPUs wait for their
/// NVSwitches' fabric manager.
[[nodiscard]] base::Result<std::vector<std::string>> add_vectors(const std::string& library);

} // namespace gpuhost::kmod
