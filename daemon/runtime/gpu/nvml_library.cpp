// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/gpu/nvml_library.hpp"

#include <cstdio>
#include <cstring>

#include <dlfcn.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;

namespace {

template <class... Arguments>
int lacks(Arguments... /*unused*/) {
    return nvml::function_not_found;
}

template <class... Arguments>
void find(void* library, const char* name, int (*&function)(Arguments...)) {
    function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library, name));
    if (function == nullptr)
        function = lacks<Arguments...>;
}

} // namespace

std::string nvml::printable(const char* text, std::size_t size) {
    std::string made(text, ::strnlen(text, size));
    for (char& c : made)
        if (c < ' ' || c > '~')
            c = '?';
    return made;
}

std::string nvml::address_of(const PciInfo& info) {
    std::string address = printable(info.bus_id, sizeof info.bus_id);
    for (char& c : address)
        if (c >= 'A' && c <= 'F')
            c = static_cast<char>(c - 'A' + 'a');
    while (address.find(':') > 4 && address.find(':') != std::string::npos && address.front() == '0')
        address.erase(0, 1);
    return address;
}

Result<NvmlLibrary> NvmlLibrary::start(const std::string& path) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return base::fail(Errc::NotFound, ::dlerror());
    NvmlLibrary loaded;
    find(library, "nvmlInit_v2", loaded.init_);
    find(library, "nvmlSystemGetCudaDriverVersion", loaded.cuda_version);
    find(library, "nvmlShutdown", loaded.shutdown_);
    find(library, "nvmlDeviceGetCount_v2", loaded.device_count);
    find(library, "nvmlDeviceGetHandleByIndex_v2", loaded.device_by_index);
    find(library, "nvmlDeviceGetMinorNumber", loaded.minor_number);
    find(library, "nvmlDeviceGetUUID", loaded.uuid);
    find(library, "nvmlDeviceGetName", loaded.name);
    find(library, "nvmlDeviceGetPciInfo_v3", loaded.pci_info);
    find(library, "nvmlDeviceGetMemoryInfo", loaded.memory);
    find(library, "nvmlDeviceGetCudaComputeCapability", loaded.compute_capability);
    find(library, "nvmlDeviceGetAttributes_v2", loaded.attributes);
    find(library, "nvmlDeviceGetGpuFabricInfo", loaded.fabric);
    find(library, "nvmlDeviceGetVirtualizationMode", loaded.virtualization);
    find(library, "nvmlDeviceGetRemappedRows", loaded.remapped_rows);
    find(library, "nvmlDeviceGetRetiredPagesPendingStatus", loaded.retired_pages_pending);
    find(library, "nvmlDeviceGetNvLinkState", loaded.nvlink_state);
    find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", loaded.nvlink_peer);
    find(library, "nvmlDeviceGetMigMode", loaded.mig_mode);
    find(library, "nvmlDeviceGetMaxMigDeviceCount", loaded.max_mig_devices);
    find(library, "nvmlDeviceGetMigDeviceHandleByIndex", loaded.mig_device_by_index);
    find(library, "nvmlDeviceGetGpuInstanceId", loaded.gpu_instance_id);
    find(library, "nvmlDeviceGetComputeInstanceId", loaded.compute_instance_id);
    find(library, "nvmlDeviceGetGpuInstanceById", loaded.gpu_instance_by_id);
    find(library, "nvmlGpuInstanceGetInfo", loaded.gpu_instance_info);
    find(library, "nvmlDeviceGetGpuInstanceProfileInfo", loaded.gpu_instance_profile);
    find(library, "nvmlDeviceGetHandleByUUID", loaded.device_by_uuid);
    find(library, "nvmlDeviceSetMigMode", loaded.set_mig_mode);
    find(library, "nvmlDeviceGetGpuInstances", loaded.gpu_instances);
    find(library, "nvmlDeviceGetGpuInstancePossiblePlacements_v2", loaded.possible_placements);
    find(library, "nvmlDeviceCreateGpuInstanceWithPlacement", loaded.create_gpu_instance);
    find(library, "nvmlGpuInstanceGetComputeInstanceProfileInfo", loaded.compute_instance_profile);
    find(library, "nvmlGpuInstanceGetComputeInstances", loaded.compute_instances);
    find(library, "nvmlComputeInstanceGetInfo_v2", loaded.compute_instance_info);
    find(library, "nvmlGpuInstanceCreateComputeInstanceWithPlacement", loaded.create_compute_instance);
    loaded.error_string_ = reinterpret_cast<const char* (*)(int)>(::dlsym(library, "nvmlErrorString"));
    if (const int error = loaded.init_(); error != nvml::success)
        return base::fail(Errc::Failed, loaded.describe("nvmlInit_v2", error));
    return loaded;
}

Result<void> NvmlLibrary::restart() const {
    (void)shutdown_();
    if (const int error = init_(); error != nvml::success)
        return base::fail(Errc::Failed, describe("nvmlInit_v2", error));
    return {};
}

std::string NvmlLibrary::describe(const char* function, int error) const {
    const char* const text = error_string_ == nullptr ? nullptr : error_string_(error);
    return std::string(function) + ": " + (text == nullptr ? "error " + std::to_string(error) : text);
}

} // namespace gpuhost::runtime
