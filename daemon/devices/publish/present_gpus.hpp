// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/devices/inventory.hpp"
#include "daemon/runtime/gpu/gpus.hpp"
#include "daemon/runtime/gpu/nvml_answer.hpp"

#include <string>
#include <vector>

namespace gpuhost::devices {

struct PresentGpus {
    std::vector<Gpu> gpus;
    HostFacts host{};
    /// Sentences about GPUs that are left out, or whose facts are incomplete.
    std::vector<std::string> problems;
    std::string failure;     ///< why NVML describes no GPU; empty: it does
    bool renumbered = false; ///< NVML has a GPU under another index than Gpu::index
};

/// Merges what the driver's files and what NVML say. A GPU that NVML does not describe keeps the facts of the
/// files. A GPU without a UUID is left out, because containers get devices by their UUIDs.
[[nodiscard]] PresentGpus merge_gpus(const base::Root& host, const std::vector<runtime::Gpu>& gpus,
                                     const base::Result<std::vector<runtime::NvmlGpu>>& reported);

/// Reads the GPUs of the loaded driver. Asks NVML, which may take seconds for each GPU that is not in use.
[[nodiscard]] PresentGpus read_present_gpus(const base::Root& host);

/// Returns the nodes in /dev that every container with a GPU gets from NVIDIA's device plugin, if they exist.
[[nodiscard]] std::vector<std::string> control_nodes(const base::Root& host);

} // namespace gpuhost::devices
