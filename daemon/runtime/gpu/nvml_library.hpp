// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library. Uses only the stable interface of nvml.h: versioned names, structures, and
// return codes.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::runtime {

namespace nvml {

using Device = void*;
using GpuInstance = void*;

struct GpuInstanceInfo {
    Device device;
    unsigned id;
    unsigned profile_id;
    unsigned placement_start;
    unsigned placement_size;
};

struct GpuInstanceProfileInfo {
    unsigned id;
    unsigned is_p2p_supported;
    unsigned slice_count;
    unsigned instance_count;
    unsigned multiprocessor_count;
    unsigned copy_engine_count;
    unsigned decoder_count;
    unsigned encoder_count;
    unsigned jpeg_count;
    unsigned ofa_count;
    unsigned long long memory_size_mb;
};

constexpr int success = 0;
constexpr int invalid_argument = 2;
constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr int function_not_found = 13;
constexpr unsigned mig_enabled = 1;

} // namespace nvml

/// The functions that gpuhost calls, from one file. A function that an old library lacks returns
/// function_not_found.
class NvmlLibrary {
  public:
    /// Loads and initializes the library. Only one can be loaded, and it is never unloaded.
    [[nodiscard]] static base::Result<NvmlLibrary> start(const std::string& path);

    /// Returns a text such as "nvmlInit_v2: Driver/library version mismatch".
    [[nodiscard]] std::string describe(const char* function, int error) const;

    int (*device_count)(unsigned*) = nullptr;
    int (*device_by_index)(unsigned, nvml::Device*) = nullptr;
    int (*minor_number)(nvml::Device, unsigned*) = nullptr;
    int (*uuid)(nvml::Device, char*, unsigned) = nullptr;
    int (*mig_mode)(nvml::Device, unsigned*, unsigned*) = nullptr; ///< current mode, and mode after a reset
    int (*max_mig_devices)(nvml::Device, unsigned*) = nullptr;
    int (*mig_device_by_index)(nvml::Device, unsigned, nvml::Device*) = nullptr;
    int (*gpu_instance_id)(nvml::Device, unsigned*) = nullptr;
    int (*compute_instance_id)(nvml::Device, unsigned*) = nullptr;
    int (*gpu_instance_by_id)(nvml::Device, unsigned, nvml::GpuInstance*) = nullptr;
    int (*gpu_instance_info)(nvml::GpuInstance, nvml::GpuInstanceInfo*) = nullptr;
    int (*gpu_instance_profile)(nvml::Device, unsigned, nvml::GpuInstanceProfileInfo*) = nullptr;

  private:
    NvmlLibrary() = default;
    int (*init_)() = nullptr;
    const char* (*error_string_)(int) = nullptr;
};

} // namespace gpuhost::runtime
