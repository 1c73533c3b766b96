// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gpuhost::core {

/// Selects the drivers in a bundle that a host imports. The driver's subsystem fills it, the images'
/// subsystem uses it.
struct DriverFilter {
    std::vector<std::string> gpus; ///< NVIDIA's PCI ids: "10de:2330"
    std::string flavour;           ///< "open" or "proprietary"; empty: either
    bool wanted = false;           ///< a version is set: imports drivers even without a GPU
};

} // namespace gpuhost::core
