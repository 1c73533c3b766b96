// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library (NVML). Uses only the stable interface of nvml.h: functions with versions in
// their names, structures, and return codes.
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::runtime {

namespace nvml {

using Device = void*;
using GpuInstance = void*;
using ComputeInstance = void*;

struct Placement {
    unsigned start;
    unsigned size;
};

struct GpuInstanceInfo {
    Device device;
    unsigned id;
    unsigned profile_id;
    Placement placement; ///< in memory slices of the GPU
};

struct ComputeInstanceInfo {
    Device device;
    GpuInstance gpu_instance;
    unsigned id;
    unsigned profile_id;
    Placement placement; ///< in compute slices of the GPU instance
};

struct ComputeInstanceProfileInfo {
    unsigned id;
    unsigned slice_count;
    unsigned instance_count;
    unsigned multiprocessor_count;
    unsigned copy_engine_count;
    unsigned decoder_count;
    unsigned encoder_count;
    unsigned jpeg_count;
    unsigned ofa_count;
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

/// The bus ID is the last member: "00000000:06:00.0".
struct PciInfo {
    char bus_id_legacy[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned device_id;
    unsigned subsystem_id;
    char bus_id[32];
};

struct Memory {
    unsigned long long total; ///< bytes
    unsigned long long free;
    unsigned long long used;
};

/// The resources of a MIG device.
struct Attributes {
    unsigned multiprocessor_count;
    unsigned copy_engine_count;
    unsigned decoder_count;
    unsigned encoder_count;
    unsigned jpeg_count;
    unsigned ofa_count;
    unsigned gpu_slice_count;
    unsigned compute_slice_count;
    unsigned long long memory_size_mb;
};

/// The place of a GPU in a network of NVLink switches.
struct FabricInfo {
    unsigned char cluster[16];
    int status; ///< a return code, valid in the state fabric_completed
    unsigned clique;
    unsigned char state;
};

constexpr int success = 0;
constexpr int invalid_argument = 2;
constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr int function_not_found = 13;
constexpr int reset_required = 16;
constexpr int in_use = 19;
constexpr unsigned mig_disabled = 0;
constexpr unsigned mig_enabled = 1;
constexpr unsigned nvlinks_per_gpu = 36; ///< NVML_NVLINK_MAX_LINKS of 2026; 18 before
constexpr int ampere = 8;                ///< the major compute capability of A100 and A30
constexpr unsigned char fabric_not_started = 1;
constexpr unsigned char fabric_in_progress = 2;
constexpr unsigned char fabric_completed = 3;
constexpr int virtual_gpu = 2; ///< a virtualization mode: the GPU is a vGPU of a hypervisor
constexpr unsigned last_gpu_instance_profile = 31;     ///< nvml.h has fewer; unknown ones are refused
constexpr unsigned last_compute_instance_profile = 15; ///< as above

/// Returns a text of the library as printable ASCII, so that it is valid JSON.
[[nodiscard]] std::string printable(const char* text, std::size_t size);

/// Returns a bus ID as sysfs writes it: "0000:06:00.0" for "00000000:06:00.0". A domain has at least four
/// digits.
[[nodiscard]] std::string address_of(const PciInfo& info);

} // namespace nvml

/// The functions of NVML that gpuhost calls. If the library is too old for a function, calls of it return
/// function_not_found.
class NvmlLibrary {
  public:
    /// Loads and initializes the library at `path`. A process can load only one library, and never unloads
    /// it.
    [[nodiscard]] static base::Result<NvmlLibrary> start(const std::string& path);

    /// Initializes the library again. All handles become invalid.
    [[nodiscard]] base::Result<void> restart() const;

    /// Returns an error as text: "nvmlInit_v2: Driver/library version mismatch".
    [[nodiscard]] std::string describe(const char* function, int error) const;

    int (*cuda_version)(int*) = nullptr; ///< 12040: CUDA 12.4
    int (*device_count)(unsigned*) = nullptr;
    int (*device_by_index)(unsigned, nvml::Device*) = nullptr;
    int (*minor_number)(nvml::Device, unsigned*) = nullptr;
    int (*uuid)(nvml::Device, char*, unsigned) = nullptr;
    int (*name)(nvml::Device, char*, unsigned) = nullptr;
    int (*pci_info)(nvml::Device, nvml::PciInfo*) = nullptr;
    int (*memory)(nvml::Device, nvml::Memory*) = nullptr;
    int (*compute_capability)(nvml::Device, int* major, int* minor) = nullptr;
    int (*attributes)(nvml::Device, nvml::Attributes*) = nullptr; ///< of a MIG device
    int (*fabric)(nvml::Device, nvml::FabricInfo*) = nullptr;
    int (*virtualization)(nvml::Device, int* mode) = nullptr;
    /// Gets the rows of memory that the GPU has replaced: their numbers after correctable and uncorrectable
    /// errors, whether a row waits for a reset, and whether one could not be replaced. Not supported before
    /// Ampere, and for a GPU with MIG instances.
    int (*remapped_rows)(nvml::Device, unsigned*, unsigned*, unsigned* pending, unsigned* failed) = nullptr;
    /// Gets whether a page of memory waits for a reset to be retired: 1, or 0. Not supported since Ampere.
    int (*retired_pages_pending)(nvml::Device, int*) = nullptr;
    /// Gets whether the NVLink with this number is active: 1, or 0.
    int (*nvlink_state)(nvml::Device, unsigned, int*) = nullptr;
    /// Gets the device at the other end of an NVLink: a GPU, or a switch.
    int (*nvlink_peer)(nvml::Device, unsigned, nvml::PciInfo*) = nullptr;
    /// Gets the present MIG mode, and the MIG mode after a reset of the GPU.
    int (*mig_mode)(nvml::Device, unsigned*, unsigned*) = nullptr;
    int (*max_mig_devices)(nvml::Device, unsigned*) = nullptr;
    int (*mig_device_by_index)(nvml::Device, unsigned, nvml::Device*) = nullptr;
    int (*gpu_instance_id)(nvml::Device, unsigned*) = nullptr;
    int (*compute_instance_id)(nvml::Device, unsigned*) = nullptr;
    int (*gpu_instance_by_id)(nvml::Device, unsigned, nvml::GpuInstance*) = nullptr;
    int (*gpu_instance_info)(nvml::GpuInstance, nvml::GpuInstanceInfo*) = nullptr;
    int (*gpu_instance_profile)(nvml::Device, unsigned, nvml::GpuInstanceProfileInfo*) = nullptr;
    int (*device_by_uuid)(const char*, nvml::Device*) = nullptr;
    /// Sets the MIG mode. The last argument gets the result of the activation, which may reset the GPU.
    int (*set_mig_mode)(nvml::Device, unsigned, int*) = nullptr;
    /// Gets the GPU instances with the id of a profile.
    int (*gpu_instances)(nvml::Device, unsigned, nvml::GpuInstance*, unsigned*) = nullptr;
    /// Gets the placements for the id of a profile, without an array only their number.
    int (*possible_placements)(nvml::Device, unsigned, nvml::Placement*, unsigned*) = nullptr;
    int (*create_gpu_instance)(nvml::Device, unsigned, const nvml::Placement*, nvml::GpuInstance*) = nullptr;
    /// Gets a profile of compute instances by its number and the number of its engine profile.
    int (*compute_instance_profile)(nvml::GpuInstance, unsigned, unsigned,
                                    nvml::ComputeInstanceProfileInfo*) = nullptr;
    int (*compute_instances)(nvml::GpuInstance, unsigned, nvml::ComputeInstance*, unsigned*) = nullptr;
    int (*compute_instance_info)(nvml::ComputeInstance, nvml::ComputeInstanceInfo*) = nullptr;
    int (*create_compute_instance)(nvml::GpuInstance, unsigned, const nvml::Placement*,
                                   nvml::ComputeInstance*) = nullptr;

  private:
    NvmlLibrary() = default;
    int (*init_)() = nullptr;
    int (*shutdown_)() = nullptr;
    const char* (*error_string_)(int) = nullptr;
};

} // namespace gpuhost::runtime
