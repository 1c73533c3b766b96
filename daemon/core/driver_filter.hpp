// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gpuhost::core {

/// Selects the drivers of a bundle that this host imports. kmod/ fills it, images/ uses it.
struct DriverFilter {
    std::vector<std::string> gpus; ///< PCI vendor and device ids of this host's NVIDIA GPUs: "10de:2330"
    std::string flavour;           ///< "open" or "proprietary"; empty: either
    bool wanted = false; ///< true if [Driver] Version= is set: imports drivers even if `gpus` is empty
};

} // namespace gpuhost::core
