// SPDX-License-Identifier: Apache-2.0
// Lists the GPUs that the loaded driver serves, from the driver's files in /proc and the kernel's in /sys.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

struct Gpu {
    std::string address;          ///< PCI: "0000:06:00.0"
    std::string uuid;             ///< "GPU-…"; empty: the driver has not read it from the GPU yet
    unsigned minor = 0;           ///< N of /dev/nvidiaN
    std::vector<std::string> drm; ///< names in /dev/dri: "card1", "renderD128"
    friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// Parses the file `information` of a GPU in /proc/driver/nvidia/gpus. Returns nullopt for a GPU that the
/// driver excludes, or that has no minor.
[[nodiscard]] std::optional<Gpu> parse_gpu(std::string_view address, std::string_view information);

/// Returns the names in /proc/driver/nvidia/gpus: the PCI addresses of the driver's GPUs, not sorted. Reads
/// no file there, so it also returns GPUs that the driver excludes; read_gpus() omits those.
[[nodiscard]] std::vector<std::string> gpu_addresses(const base::Root& root);
/// Returns the names in /dev/dri of the device with the PCI address `address`.
[[nodiscard]] std::vector<std::string> drm_names(const base::Root& root, const std::string& address);

/// Returns the MIG instances of all GPUs, as "gpu0/mig/gi1" and "gpu0/mig/gi1/ci0". The first number is the
/// GPU's minor.
[[nodiscard]] std::vector<std::string> mig_instances(const base::Root& root);

/// Returns the GPUs in order of PCI address. The position of a GPU is its index in NVML, unless NVML can't
/// open a GPU before it. Empty if no driver is loaded.
[[nodiscard]] std::vector<Gpu> read_gpus(const base::Root& root);

} // namespace gpuhost::runtime
