// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_filter.hpp"

#include "kmod/driver_settings.hpp"
#include "kmod/module/kernel_state.hpp"

#include <algorithm>

namespace gpuhost::kmod {

core::DriverFilter driver_filter(const base::Root& root, const core::Settings& settings) {
    const DriverSettings driver = driver_settings(settings);
    core::DriverFilter desired{{}, driver.flavour == "any" ? "" : driver.flavour, !driver.version.empty()};
    if (driver.owner != DriverOwner::Gpuhost)
        return desired;
    for (const PciGpu& gpu : nvidia_gpus(root))
        desired.gpus.push_back(pci_numbers(gpu));
    std::sort(desired.gpus.begin(), desired.gpus.end());
    desired.gpus.erase(std::unique(desired.gpus.begin(), desired.gpus.end()), desired.gpus.end());
    return desired;
}

} // namespace gpuhost::kmod
