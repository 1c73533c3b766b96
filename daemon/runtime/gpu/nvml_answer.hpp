// SPDX-License-Identifier: Apache-2.0
// Facts about GPUs that only NVML provides. The program gpuhost-nvml queries NVML in a process of its own,
// because NVML may hang. It writes one JSON object to stdout: {"gpus": [...]} or {"error": text}.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// The resources of a MIG device.
struct MigAttributes {
    unsigned memory_mib = 0; ///< 0: all are unknown
    unsigned multiprocessors = 0;
    unsigned gpu_slices = 0;
    unsigned compute_slices = 0;
    unsigned copy_engines = 0;
    unsigned decoders = 0;
    unsigned encoders = 0;
    unsigned jpeg_engines = 0;
    unsigned ofa_engines = 0; ///< optical flow accelerators
    friend bool operator==(const MigAttributes&, const MigAttributes&) = default;
};

/// A MIG device that a container can get: a compute instance in a GPU instance.
struct NvmlInstance {
    unsigned index = 0; ///< index within its GPU; the indices may have gaps
    std::string uuid;   ///< "MIG-…"
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
    bool graphics = false; ///< supports graphics
    std::string profile;   ///< as NVIDIA writes it: "1g.10gb", "1g.5gb+me", "1c.3g.20gb"; empty: unknown
    MigAttributes attributes{};
    friend bool operator==(const NvmlInstance&, const NvmlInstance&) = default;
};

/// The active NVLinks from one GPU to another one of this host. Links to switches are left out.
struct NvmlLinks {
    unsigned minor = 0; ///< of the other GPU
    unsigned count = 0;
    friend bool operator==(const NvmlLinks&, const NvmlLinks&) = default;
};

struct NvmlGpu {
    unsigned minor = 0;
    bool split = false; ///< MIG is on, even without instances
    std::vector<NvmlInstance> instances;
    std::string problem;            ///< why the facts are incomplete; empty: they are complete
    std::string uuid;               ///< "GPU-…"; empty: unknown, as all of the following
    std::string address;            ///< PCI, as in sysfs: "0000:06:00.0"
    std::string model;              ///< "NVIDIA H100 80GB HBM3"
    std::uint64_t memory_mib = 0;   ///< 0: unknown
    std::string compute_capability; ///< "9.0"
    unsigned cuda_version = 0;      ///< the latest that the driver supports: 12040 for CUDA 12.4; 0: unknown
    bool mig_capable = false;       ///< the GPU can have MIG instances
    bool vgpu = false;              ///< the GPU is a vGPU of a hypervisor
    std::string fabric{};           ///< "UUID.CLIQUE" in a network of NVLink switches; empty: in none
    bool joins_fabric = false;      ///< the GPU is not registered yet in its network
    std::vector<NvmlLinks> nvlinks{};
    bool memory_pending = false;     ///< faulty memory waits for a reset of the GPU to be replaced
    bool memory_failed = false;      ///< faulty memory could not be replaced
    std::optional<unsigned> index{}; ///< in NVML; none: not known
    friend bool operator==(const NvmlGpu&, const NvmlGpu&) = default;
};

/// Returns true if the text is safe as a UUID that people type: `prefix` ("GPU-" or "MIG-"), then letters,
/// digits and dashes.
[[nodiscard]] bool is_uuid(const std::string& text, std::string_view prefix);
/// Returns true if the text has the characters of a PCI address, or is empty.
[[nodiscard]] bool is_address(const std::string& text);

struct MigSize {
    unsigned gpu_slices = 0;
    unsigned compute_slices = 0;
    std::uint64_t memory_mib = 0;  ///< of the instance
    std::uint64_t total_bytes = 0; ///< of the GPU's memory
};
/// Returns the name of a MIG profile as NVIDIA's programs write it. `profile` is the number that nvml.h gives
/// the profile of the GPU instance (NVML_GPU_INSTANCE_PROFILE_…). Empty if a number of `size` is 0.
[[nodiscard]] std::string mig_profile_name(unsigned profile, const MigSize& size);

[[nodiscard]] base::Json to_json(const std::vector<NvmlGpu>& gpus);
/// Parses the output of gpuhost-nvml: its last line, because NVML may print lines too. Fails with the error
/// that the answer contains, if any.
[[nodiscard]] base::Result<std::vector<NvmlGpu>> parse_nvml_answer(std::string_view text);

/// Runs gpuhost-nvml with an NVML library and returns its answer. `library` is a path below `host`, which
/// must be the running host. `words` are the verb and its arguments. Fails with the error that the answer
/// contains, if any.
[[nodiscard]] base::Result<base::Json> run_nvml(const base::Root& host, const std::string& library,
                                                std::vector<std::string> words,
                                                std::chrono::seconds patience);

/// Returns the GPUs as run_nvml() describes them without a verb.
[[nodiscard]] base::Result<std::vector<NvmlGpu>> ask_nvml(const base::Root& host, const std::string& library);

} // namespace gpuhost::runtime
