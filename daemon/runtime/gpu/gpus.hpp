// SPDX-License-Identifier: Apache-2.0
// The GPUs that the loaded driver serves, by what it says in /proc and the kernel in /sys.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

struct Gpu {
    std::string address;          ///< PCI: "0000:06:00.0"
    std::string uuid;             ///< "GPU-…"; empty: the driver has not asked the GPU yet
    unsigned minor = 0;           ///< of /dev/nvidiaN
    std::vector<std::string> drm; ///< names in /dev/dri: "card1", "renderD128"
    friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// Of a GPU's information file in /proc/driver/nvidia/gpus; nothing for one that the driver was told to leave alone, or
/// that has no minor.
[[nodiscard]] std::optional<Gpu> parse_gpu(std::string_view address, std::string_view information);

/// Of all that the driver serves, in no order that means anything; asks it nothing.
[[nodiscard]] std::vector<std::string> gpu_addresses(const base::Root& root);
/// Names in /dev/dri of the device with that PCI address.
[[nodiscard]] std::vector<std::string> drm_names(const base::Root& root, const std::string& address);

/// Of MIG, of all GPUs, as "gpu0/mig/gi1" and "gpu0/mig/gi1/ci0": the first number is the GPU's minor.
[[nodiscard]] std::vector<std::string> mig_instances(const base::Root& root);

/// In the order of their PCI addresses, which is NVML's: a GPU's place is its index. None without a driver.
[[nodiscard]] std::vector<Gpu> read_gpus(const base::Root& root);

} // namespace gpuhost::runtime
