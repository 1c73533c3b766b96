// SPDX-License-Identifier: Apache-2.0
// Reads MIG instances from NVML. For gpuhost-nvml alone: the library may hang or crash.
#pragma once

#include "daemon/devices/mig/commands.hpp"
#include "daemon/devices/mig/geometry.hpp"
#include "daemon/devices/mig/restore_plan.hpp"
#include "daemon/runtime/gpu/nvml_library.hpp"

#include <optional>

namespace gpuhost::devices {

class NvmlGeometry {
  public:
    /// `library` must outlive the object.
    explicit NvmlGeometry(const runtime::NvmlLibrary& library) : library_(library) {}

    /// Returns the GPUs that support MIG, or may support it: those that NVML can't describe have a problem.
    [[nodiscard]] base::Result<Geometry> read() const;
    /// Returns a GPU; nullopt if it does not support MIG.
    [[nodiscard]] std::optional<MigGpu> read(runtime::nvml::Device device) const;
    /// Returns the placements for the profiles of the instances of `gpu`.
    [[nodiscard]] PossiblePlacements placements(runtime::nvml::Device device, const MigGpu& gpu) const;
    /// Returns the profiles of the instances of `gpu`.
    [[nodiscard]] DriverProfiles profiles(runtime::nvml::Device device, const MigGpu& gpu) const;
    /// Returns the id that the driver gives a profile; nullopt if it does not have the profile.
    [[nodiscard]] std::optional<unsigned> gpu_profile_id(runtime::nvml::Device device,
                                                         unsigned profile) const;
    [[nodiscard]] std::optional<unsigned> compute_profile_id(runtime::nvml::GpuInstance instance,
                                                             const ComputeInstance& wanted) const;
    [[nodiscard]] base::Result<std::vector<runtime::nvml::GpuInstance>>
    gpu_instances(runtime::nvml::Device device, unsigned profile_id) const;
    /// Fails with the library's text if `error` is not success.
    [[nodiscard]] base::Result<void> check(const char* function, int error) const;

  private:
    /// Sets the UUID and the PCI address as far as they are known.
    [[nodiscard]] base::Result<void> identify(runtime::nvml::Device device, MigGpu& gpu) const;
    [[nodiscard]] base::Result<std::vector<GpuInstance>> instances(runtime::nvml::Device device) const;
    [[nodiscard]] base::Result<std::vector<ComputeInstance>>
    compute_instances(runtime::nvml::GpuInstance instance) const;
    [[nodiscard]] base::Result<void> add_uuids(runtime::nvml::Device device,
                                               std::vector<GpuInstance>& instances) const;

    const runtime::NvmlLibrary& library_;
};

} // namespace gpuhost::devices
