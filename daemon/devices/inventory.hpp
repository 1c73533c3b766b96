// SPDX-License-Identifier: Apache-2.0
// The GPUs of a host and their MIG instances, as values.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::devices {

/// A MIG device that a container can get: a compute instance in a GPU instance.
struct Instance {
    std::string uuid;    ///< "MIG-…"
    std::string profile; ///< "1g.10gb"; empty: unknown
    unsigned index = 0;  ///< within its GPU; the indices may have gaps
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    friend bool operator==(const Instance&, const Instance&) = default;
};

struct Gpu {
    std::string uuid;    ///< "GPU-…"
    std::string address; ///< PCI: "0000:06:00.0"
    unsigned minor = 0;  ///< N of /dev/nvidiaN
    std::optional<unsigned> numa;
    std::string model;              ///< as NVML names it: "NVIDIA H100 80GB HBM3"; empty: unknown
    std::uint64_t memory_mib = 0;   ///< 0: unknown
    std::string compute_capability; ///< "9.0"; empty: unknown
    bool split = false;             ///< MIG is on, even without instances
    std::vector<Instance> instances;
    std::string problem; ///< why the facts are incomplete; empty: they are complete
    friend bool operator==(const Gpu&, const Gpu&) = default;
};

[[nodiscard]] base::Json to_json(const std::vector<Gpu>& gpus);
/// Fails with BadContent for a UUID, address or number that is not of the right form, and for a UUID that
/// occurs twice.
[[nodiscard]] base::Result<std::vector<Gpu>> gpus_from_json(const base::Json& list);

} // namespace gpuhost::devices
