// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gpuhost::core {

/// Which of the drivers in a bundle a host takes. The driver's room knows that, the images' room acts on it.
struct DriverWish {
    std::vector<std::string> gpus; ///< NVIDIA's, by their numbers: "10de:2330"
    std::string flavour;           ///< "open" or "proprietary"; empty: either
    bool wanted = false;           ///< somebody set a version: it takes drivers without a GPU too
};

} // namespace gpuhost::core
