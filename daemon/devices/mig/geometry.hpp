// SPDX-License-Identifier: Apache-2.0
// How GPUs are split into MIG instances, as values. The instances do not outlast the driver's modules, so a
// swap saves the geometry and creates the instances again (daemon/devices/mig/steps.hpp).
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

/// The slices of an instance: memory slices of the GPU, or compute slices of the GPU instance.
struct Placement {
    unsigned start = 0;
    unsigned size = 0;
    friend bool operator==(const Placement&, const Placement&) = default;
};

/// Profiles are the numbers of nvml.h (NVML_COMPUTE_INSTANCE_PROFILE_…), which are the same in all drivers.
struct ComputeInstance {
    unsigned id = 0;
    unsigned profile = 0;
    unsigned engine_profile = 0;
    Placement placement;
    std::string uuid; ///< of the MIG device: "MIG-…"; empty: unknown
    friend bool operator==(const ComputeInstance&, const ComputeInstance&) = default;
};

/// The profile is a number of nvml.h: NVML_GPU_INSTANCE_PROFILE_….
struct GpuInstance {
    unsigned id = 0;
    unsigned profile = 0;
    Placement placement;
    std::vector<ComputeInstance> compute_instances; ///< in ascending order of their ids
    friend bool operator==(const GpuInstance&, const GpuInstance&) = default;
};

/// A GPU that supports MIG, or may support it.
struct MigGpu {
    std::string uuid;                   ///< "GPU-…"; empty: unknown, and `problem` says why
    std::string address;                ///< PCI: "0000:06:00.0"; empty: unknown
    bool split = false;                 ///< the MIG mode is on
    std::vector<GpuInstance> instances; ///< in ascending order of their ids
    std::string problem;                ///< why the instances are unknown; empty: they are known
    friend bool operator==(const MigGpu&, const MigGpu&) = default;
};

using Geometry = std::vector<MigGpu>;

inline constexpr std::size_t largest_geometry = 1U << 20; ///< bytes, as JSON
inline constexpr std::size_t most_gpus = 256;
inline constexpr std::size_t longest_problem = 1000; ///< bytes

[[nodiscard]] base::Json to_json(const Geometry& geometry);
/// Reads {"gpus": […]}. Fails with BadContent for a value that is not of the right form, for an id, UUID or
/// placement that occurs twice, and for more instances than a GPU can have. Sorts the instances.
[[nodiscard]] base::Result<Geometry> geometry_from_json(const base::Json& value);

template <class Instance>
void sort_by_id(std::vector<Instance>& instances) {
    std::sort(instances.begin(), instances.end(),
              [](const Instance& a, const Instance& b) { return a.id < b.id; });
}

/// "GPU 0000:06:00.0"
[[nodiscard]] std::string name_of(const MigGpu& gpu);
/// Returns the number of GPUs with the MIG mode on.
[[nodiscard]] std::size_t count_split(const Geometry& geometry);
/// Returns the number of compute instances of a GPU. Each is one MIG device.
[[nodiscard]] std::size_t count_devices(const MigGpu& gpu);

} // namespace gpuhost::devices
