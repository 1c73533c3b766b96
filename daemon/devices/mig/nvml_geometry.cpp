// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/nvml_geometry.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace gpuhost::devices {

using base::Errc;
using base::Result;
namespace nvml = runtime::nvml;

namespace {

constexpr std::size_t text_buffer = 96; ///< the size that nvml.h requires of UUIDs
/// Longer than the list of instances or placements of any profile, because the library does not check it.
constexpr std::size_t list_buffer = 256;
constexpr unsigned shared_engines = 0; ///< the only engine profile of nvml.h

Placement placement_of(const nvml::Placement& placement) {
    return {placement.start, placement.size};
}

} // namespace

Result<void> NvmlGeometry::check(const char* function, int error) const {
    if (error == nvml::success)
        return {};
    return base::fail(Errc::Failed, library_.describe(function, error));
}

Result<Geometry> NvmlGeometry::read() const {
    unsigned count = 0;
    GPUHOST_CHECK(check("nvmlDeviceGetCount_v2", library_.device_count(&count)));
    Geometry geometry;
    for (unsigned index = 0; index < count; ++index) {
        nvml::Device device = nullptr;
        if (const int error = library_.device_by_index(index, &device); error != nvml::success)
            geometry.push_back(
                {"", "", false, {}, library_.describe("nvmlDeviceGetHandleByIndex_v2", error)});
        else if (auto gpu = read(device))
            geometry.push_back(*std::move(gpu));
    }
    return geometry;
}

std::optional<MigGpu> NvmlGeometry::read(nvml::Device device) const {
    unsigned mode = 0;
    unsigned pending = 0;
    const int error = library_.mig_mode(device, &mode, &pending);
    if (error == nvml::not_supported || error == nvml::function_not_found)
        return std::nullopt;
    MigGpu gpu;
    gpu.split = error == nvml::success && mode == nvml::mig_enabled;
    if (const auto done = identify(device, gpu); !done)
        gpu.problem = done.error().message;
    else if (error != nvml::success)
        gpu.problem = library_.describe("nvmlDeviceGetMigMode", error);
    if (!gpu.split || !gpu.problem.empty())
        return gpu;
    auto found = instances(device);
    if (found)
        gpu.instances = *std::move(found);
    else
        gpu.problem = found.error().message;
    return gpu;
}

Result<void> NvmlGeometry::identify(nvml::Device device, MigGpu& gpu) const {
    std::array<char, text_buffer> uuid{};
    nvml::PciInfo pci{};
    const int pci_error = library_.pci_info(device, &pci);
    if (pci_error == nvml::success)
        gpu.address = nvml::address_of(pci);
    GPUHOST_CHECK(check("nvmlDeviceGetUUID", library_.uuid(device, uuid.data(), uuid.size() - 1)));
    gpu.uuid = nvml::printable(uuid.data(), uuid.size());
    return check("nvmlDeviceGetPciInfo_v3", pci_error);
}

std::optional<unsigned> NvmlGeometry::gpu_profile_id(nvml::Device device, unsigned profile) const {
    nvml::GpuInstanceProfileInfo info{};
    return library_.gpu_instance_profile(device, profile, &info) == nvml::success ? std::optional(info.id)
                                                                                  : std::nullopt;
}

DriverProfiles NvmlGeometry::profiles(nvml::Device device, const MigGpu& gpu) const {
    DriverProfiles profiles;
    for (const GpuInstance& instance : gpu.instances) {
        nvml::GpuInstanceProfileInfo info{};
        if (library_.gpu_instance_profile(device, instance.profile, &info) == nvml::success)
            profiles[instance.profile] = {info.id, info.slice_count};
    }
    return profiles;
}

std::optional<unsigned> NvmlGeometry::compute_profile_id(nvml::GpuInstance instance,
                                                         const ComputeInstance& wanted) const {
    nvml::ComputeInstanceProfileInfo info{};
    return library_.compute_instance_profile(instance, wanted.profile, wanted.engine_profile, &info) ==
                   nvml::success
               ? std::optional(info.id)
               : std::nullopt;
}

Result<std::vector<nvml::GpuInstance>> NvmlGeometry::gpu_instances(nvml::Device device,
                                                                   unsigned profile_id) const {
    std::vector<nvml::GpuInstance> handles(list_buffer);
    unsigned count = list_buffer;
    GPUHOST_CHECK(check("nvmlDeviceGetGpuInstances",
                        library_.gpu_instances(device, profile_id, handles.data(), &count)));
    handles.resize(std::min<std::size_t>(count, list_buffer));
    return handles;
}

Result<std::vector<GpuInstance>> NvmlGeometry::instances(nvml::Device device) const {
    std::vector<GpuInstance> found;
    std::set<unsigned> ids; // of profiles
    for (unsigned profile = 0; profile <= nvml::last_gpu_instance_profile; ++profile) {
        const auto profile_id = gpu_profile_id(device, profile);
        if (!profile_id || !ids.insert(*profile_id).second)
            continue;
        GPUHOST_TRY(handles, gpu_instances(device, *profile_id));
        for (const nvml::GpuInstance handle : handles) {
            nvml::GpuInstanceInfo info{};
            GPUHOST_CHECK(check("nvmlGpuInstanceGetInfo", library_.gpu_instance_info(handle, &info)));
            GPUHOST_TRY(inner, compute_instances(handle));
            found.push_back({info.id, profile, placement_of(info.placement), std::move(inner)});
        }
    }
    sort_by_id(found);
    GPUHOST_CHECK(add_uuids(device, found));
    return found;
}

Result<std::vector<ComputeInstance>> NvmlGeometry::compute_instances(nvml::GpuInstance instance) const {
    std::vector<ComputeInstance> found;
    std::set<unsigned> ids; // of profiles
    for (unsigned profile = 0; profile <= nvml::last_compute_instance_profile; ++profile) {
        const auto profile_id = compute_profile_id(instance, {0, profile, shared_engines, {}, {}});
        if (!profile_id || !ids.insert(*profile_id).second)
            continue;
        std::array<nvml::ComputeInstance, list_buffer> handles{};
        unsigned count = list_buffer;
        GPUHOST_CHECK(check("nvmlGpuInstanceGetComputeInstances",
                            library_.compute_instances(instance, *profile_id, handles.data(), &count)));
        for (std::size_t i = 0; i < std::min<std::size_t>(count, list_buffer); ++i) {
            nvml::ComputeInstanceInfo info{};
            GPUHOST_CHECK(
                check("nvmlComputeInstanceGetInfo_v2", library_.compute_instance_info(handles.at(i), &info)));
            found.push_back({info.id, profile, shared_engines, placement_of(info.placement), {}});
        }
    }
    sort_by_id(found);
    return found;
}

Result<void> NvmlGeometry::add_uuids(nvml::Device device, std::vector<GpuInstance>& instances) const {
    unsigned count = 0;
    GPUHOST_CHECK(check("nvmlDeviceGetMaxMigDeviceCount", library_.max_mig_devices(device, &count)));
    for (unsigned index = 0; index < std::min<unsigned>(count, list_buffer); ++index) {
        nvml::Device mig = nullptr; // indexes of destroyed instances are unused
        std::array<char, text_buffer> uuid{};
        unsigned outer_id = 0;
        unsigned inner_id = 0;
        if (library_.mig_device_by_index(device, index, &mig) != nvml::success ||
            library_.uuid(mig, uuid.data(), uuid.size() - 1) != nvml::success ||
            library_.gpu_instance_id(mig, &outer_id) != nvml::success ||
            library_.compute_instance_id(mig, &inner_id) != nvml::success)
            continue;
        for (GpuInstance& outer : instances)
            for (ComputeInstance& inner : outer.compute_instances)
                if (outer.id == outer_id && inner.id == inner_id)
                    inner.uuid = nvml::printable(uuid.data(), uuid.size());
    }
    return {};
}

PossiblePlacements NvmlGeometry::placements(nvml::Device device, const MigGpu& gpu) const {
    PossiblePlacements possible;
    for (const GpuInstance& instance : gpu.instances) {
        const auto profile_id = gpu_profile_id(device, instance.profile);
        std::array<nvml::Placement, list_buffer> found{};
        unsigned count = list_buffer;
        if (!profile_id || possible.count(instance.profile) != 0 ||
            library_.possible_placements(device, *profile_id, found.data(), &count) != nvml::success)
            continue;
        std::vector<Placement>& list = possible[instance.profile];
        std::transform(found.begin(), found.begin() + std::min<std::ptrdiff_t>(count, list_buffer),
                       std::back_inserter(list), placement_of);
    }
    return possible;
}

} // namespace gpuhost::devices
