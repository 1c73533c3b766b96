// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_filter.hpp"

#include "kmod/driver_settings.hpp"
#include "kmod/module/kernel_state.hpp"

#include <algorithm>

namespace gpuhost::kmod {

core::DriverFilter driver_filter(const base::Root& root, const core::Settings& settings) {
    const DriverSettings driver = driver_settings(settings);
    core::DriverFilter filter{{}, driver.flavour == "any" ? "" : driver.flavour, !driver.version.empty()};
    if (driver.owner != DriverOwner::Gpuhost)
        return filter;
    for (const PciGpu& gpu : nvidia_gpus(root))
        filter.gpus.push_back(pci_numbers(gpu));
    std::sort(filter.gpus.begin(), filter.gpus.end());
    filter.gpus.erase(std::unique(filter.gpus.begin(), filter.gpus.end()), filter.gpus.end());
    return filter;
}

} // namespace gpuhost::kmod
