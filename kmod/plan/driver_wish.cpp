// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_wish.hpp"

#include "kmod/driver_settings.hpp"
#include "kmod/module/kernel_state.hpp"

#include <algorithm>

namespace gpuhost::kmod {

core::DriverWish driver_wish(const base::Root& root, const core::Settings& settings) {
    const DriverSettings driver = driver_settings(settings);
    core::DriverWish wish{{}, driver.flavour == "any" ? "" : driver.flavour, !driver.version.empty()};
    if (driver.owner != DriverOwner::Gpuhost)
        return wish;
    for (const PciGpu& gpu : nvidia_gpus(root))
        wish.gpus.push_back(pci_numbers(gpu));
    std::sort(wish.gpus.begin(), wish.gpus.end());
    wish.gpus.erase(std::unique(wish.gpus.begin(), wish.gpus.end()), wish.gpus.end());
    return wish;
}

} // namespace gpuhost::kmod
