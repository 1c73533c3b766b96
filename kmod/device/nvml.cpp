// SPDX-License-Identifier: Apache-2.0
#include "kmod/device/nvml.hpp"

#include "daemon/base/handle.hpp"

#include <array>

#include <dlfcn.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Result;

// The part of nvml.h that is used here, which has not changed since NVML 5. The header itself may not be
// distributed.
using NvmlReturn = int;
constexpr std::size_t version_size = 80;

using LibraryPtr = base::CHandle<void, ::dlclose>;

template <class Function>
Result<Function*> symbol(void* library, const char* name) {
    void* const address = ::dlsym(library, name);
    if (address == nullptr)
        return base::fail(Errc::BadContent, std::string("NVML: symbol '") + name + "' not found");
    return reinterpret_cast<Function*>(address);
}

/// Returns the number of GPUs with MIG enabled. MIG counts as disabled for a GPU without MIG, and for all
/// GPUs if the library is older than MIG.
unsigned count_split(void* library, unsigned devices) {
    const auto handle = symbol<NvmlReturn(unsigned, void**)>(library, "nvmlDeviceGetHandleByIndex_v2");
    const auto mode = symbol<NvmlReturn(void*, unsigned*, unsigned*)>(library, "nvmlDeviceGetMigMode");
    unsigned split = 0;
    for (unsigned index = 0; handle && mode && index < devices; ++index) {
        void* device = nullptr;
        unsigned current = 0;
        unsigned pending = 0;
        if ((*handle)(index, &device) == 0 && (*mode)(device, &current, &pending) == 0 && current != 0)
            ++split;
    }
    return split;
}

} // namespace

Result<NvmlReport> ask_nvml(const std::string& library) {
    const LibraryPtr handle(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!handle) {
        const char* const reason = ::dlerror();
        return base::fail(Errc::BadContent,
                          "'" + library + "': " + (reason != nullptr ? reason : "cannot be opened"));
    }
    GPUHOST_TRY(init, symbol<NvmlReturn()>(handle.get(), "nvmlInit_v2"));
    GPUHOST_TRY(shutdown, symbol<NvmlReturn()>(handle.get(), "nvmlShutdown"));
    GPUHOST_TRY(version, symbol<NvmlReturn(char*, unsigned)>(handle.get(), "nvmlSystemGetDriverVersion"));
    GPUHOST_TRY(count, symbol<NvmlReturn(unsigned*)>(handle.get(), "nvmlDeviceGetCount_v2"));
    GPUHOST_TRY(explain, symbol<const char*(NvmlReturn)>(handle.get(), "nvmlErrorString"));
    const auto check = [&](const char* what, NvmlReturn result) -> Result<void> {
        if (result == 0)
            return {};
        return base::fail(Errc::Failed, std::string("NVML: ") + what + ": " + explain(result));
    };
    GPUHOST_CHECK(check("starting", init()));
    NvmlReport report;
    std::array<char, version_size> text{};
    Result<void> asked =
        check("driver version", version(text.data(), static_cast<unsigned>(text.size() - 1)));
    if (asked)
        asked = check("device count", count(&report.devices));
    if (asked)
        report.split = count_split(handle.get(), report.devices);
    (void)shutdown();
    if (!asked)
        return base::fail(asked.error());
    report.driver_version = text.data();
    return report;
}

} // namespace gpuhost::kmod
