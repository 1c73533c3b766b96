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

/// The resources of a MIG instance.
struct Attributes {
    unsigned memory_mib = 0; ///< 0: all are unknown
    unsigned multiprocessors = 0;
    unsigned gpu_slices = 0;
    unsigned compute_slices = 0;
    unsigned copy_engines = 0;
    unsigned decoders = 0;
    unsigned encoders = 0;
    unsigned jpeg_engines = 0;
    unsigned ofa_engines = 0; ///< optical flow accelerators
    friend bool operator==(const Attributes&, const Attributes&) = default;
};

/// A MIG device that a container can get: a compute instance in a GPU instance.
struct Instance {
    std::string uuid;    ///< "MIG-…"
    std::string profile; ///< "1g.10gb"; empty: unknown
    unsigned index = 0;  ///< within its GPU; the indices may have gaps
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    Attributes attributes{};
    std::vector<std::string> nodes{}; ///< that grant access: "/dev/nvidia-caps/nvidia-cap3"; empty: unknown
    friend bool operator==(const Instance&, const Instance&) = default;
};

/// The active NVLinks between a GPU and another one of this host. Links to switches are left out.
struct NvLinks {
    std::string gpu; ///< UUID of the other GPU
    unsigned count = 0;
    friend bool operator==(const NvLinks&, const NvLinks&) = default;
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
    std::string problem;      ///< why the facts are incomplete; empty: they are complete
    std::string pci_class{};  ///< as in sysfs: "0x030200"; empty: unknown
    bool mig_capable = false; ///< the GPU can have MIG instances
    bool vgpu = false;        ///< the GPU is a vGPU of a hypervisor
    std::string fabric{};     ///< "UUID.CLIQUE" in a network of NVLink switches; empty: in none
    std::vector<NvLinks> nvlinks{};
    unsigned index = 0;          ///< by PCI address, as in gpuhostd's CDI specification
    bool memory_pending = false; ///< faulty memory waits for a reset of the GPU to be replaced
    bool memory_failed = false;  ///< faulty memory could not be replaced
    friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// Facts of the host that its GPUs share.
struct HostFacts {
    std::string driver;        ///< version of the loaded driver: "550.163.01"; empty: unknown
    unsigned cuda_version = 0; ///< the latest that the driver supports: 12040 for CUDA 12.4; 0: unknown
    std::string machine;       ///< product name in DMI; empty: unknown
    friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

[[nodiscard]] base::Json to_json(const HostFacts& host);
/// Reads facts. Invalid ones are treated as unknown.
[[nodiscard]] HostFacts host_facts_from_json(const base::Json& value);

[[nodiscard]] base::Json to_json(const std::vector<Gpu>& gpus);
/// Fails with BadContent for a UUID, address or number that is not of the right form, and for a UUID that
/// occurs twice. NVLinks may be absent.
[[nodiscard]] base::Result<std::vector<Gpu>> gpus_from_json(const base::Json& list);

/// Reads a list of NVIDIA's nodes in /dev. Returns an empty one for null. Fails with BadContent.
[[nodiscard]] base::Result<std::vector<std::string>> nodes_from_json(const base::Json& list);

} // namespace gpuhost::devices
