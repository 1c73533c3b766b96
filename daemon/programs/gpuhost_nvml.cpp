// SPDX-License-Identifier: Apache-2.0
// gpuhost-nvml: lists the GPUs and their MIG instances, which only NVIDIA's management library (NVML) knows.
// Runs as a separate process, because the library may hang or crash; see daemon/runtime/gpu/nvml_answer.hpp.
#include "daemon/base/json.hpp"
#include "daemon/runtime/gpu/nvml_answer.hpp"
#include "daemon/runtime/gpu/nvml_library.hpp"

#include <array>
#include <cstdio>

namespace {

using namespace gpuhost; // NOLINT: this file only
using base::Errc;
using base::Result;
using runtime::NvmlGpu;
using runtime::NvmlInstance;
using runtime::NvmlLibrary;
namespace nvml = runtime::nvml;

constexpr std::size_t uuid_buffer = 96;                ///< the size that nvml.h requires
constexpr std::array graphics_profiles{10U, 11U, 12U}; ///< the profiles that nvml.h calls …_SLICE_GFX

class Question {
  public:
    explicit Question(const NvmlLibrary& library) : library_(library) {}

    [[nodiscard]] Result<std::vector<NvmlGpu>> ask() const {
        unsigned count = 0;
        GPUHOST_CHECK(check("nvmlDeviceGetCount_v2", library_.device_count(&count)));
        std::vector<NvmlGpu> gpus;
        for (unsigned index = 0; index < count; ++index) {
            nvml::Device device = nullptr;
            NvmlGpu gpu; // a faulty GPU, which is skipped, must not hide the others
            if (library_.device_by_index(index, &device) != nvml::success ||
                library_.minor_number(device, &gpu.minor) != nvml::success)
                continue;
            if (const auto described = describe(device, gpu); !described)
                gpu.problem = described.error().message;
            gpus.push_back(std::move(gpu));
        }
        return gpus;
    }

  private:
    [[nodiscard]] Result<void> check(const char* function, int error) const {
        if (error == nvml::success)
            return {};
        return base::fail(Errc::Failed, library_.describe(function, error));
    }

    [[nodiscard]] Result<void> describe(nvml::Device device, NvmlGpu& gpu) const {
        unsigned mode = 0;
        unsigned pending = 0;
        const int error = library_.mig_mode(device, &mode, &pending);
        if (error == nvml::not_supported || error == nvml::function_not_found)
            return {};
        GPUHOST_CHECK(check("nvmlDeviceGetMigMode", error));
        gpu.split = mode == nvml::mig_enabled;
        return gpu.split ? add_instances(device, gpu) : Result<void>();
    }

    /// Adds the MIG instances of a GPU. Indexes of destroyed instances are unused.
    [[nodiscard]] Result<void> add_instances(nvml::Device device, NvmlGpu& gpu) const {
        unsigned count = 0;
        GPUHOST_CHECK(check("nvmlDeviceGetMaxMigDeviceCount", library_.max_mig_devices(device, &count)));
        for (unsigned index = 0; index < count; ++index) {
            nvml::Device instance = nullptr;
            const int error = library_.mig_device_by_index(device, index, &instance);
            if (error == nvml::not_found || error == nvml::invalid_argument)
                continue;
            GPUHOST_CHECK(check("nvmlDeviceGetMigDeviceHandleByIndex", error));
            auto described = describe(device, instance);
            if (!described) { // the instance may have been destroyed meanwhile
                gpu.problem = described.error().message;
                continue;
            }
            described->index = index;
            gpu.instances.push_back(*std::move(described));
        }
        return {};
    }

    [[nodiscard]] Result<NvmlInstance> describe(nvml::Device device, nvml::Device instance) const {
        NvmlInstance described;
        std::array<char, uuid_buffer> uuid{};
        GPUHOST_CHECK(check("nvmlDeviceGetUUID", library_.uuid(instance, uuid.data(), uuid.size() - 1)));
        described.uuid = uuid.data();
        GPUHOST_CHECK(
            check("nvmlDeviceGetGpuInstanceId", library_.gpu_instance_id(instance, &described.gpu_instance)));
        GPUHOST_CHECK(check("nvmlDeviceGetComputeInstanceId",
                            library_.compute_instance_id(instance, &described.compute_instance)));
        described.graphics = can_draw(device, described.gpu_instance);
        return described;
    }

    /// Returns true if an instance supports graphics. Returns false if the library is too old to report it,
    /// because such a library has no graphics instances.
    [[nodiscard]] bool can_draw(nvml::Device device, unsigned id) const {
        nvml::GpuInstance instance = nullptr;
        nvml::GpuInstanceInfo info{};
        if (library_.gpu_instance_by_id(device, id, &instance) != nvml::success ||
            library_.gpu_instance_info(instance, &info) != nvml::success)
            return false;
        for (const unsigned profile : graphics_profiles) {
            nvml::GpuInstanceProfileInfo of_profile{};
            if (library_.gpu_instance_profile(device, profile, &of_profile) == nvml::success &&
                of_profile.id == info.profile_id)
                return true;
        }
        return false;
    }

    const NvmlLibrary& library_;
};

Result<std::vector<NvmlGpu>> ask(const std::string& path) {
    GPUHOST_TRY(library, NvmlLibrary::start(path));
    return Question(library).ask();
}

} // namespace

int main(int argc, char* argv[]) {
    if (argc != 2) {
        (void)std::fputs("usage: gpuhost-nvml LIBRARY\n", stderr);
        return 2;
    }
    const auto gpus = ask(argv[1]);
    const base::Json answer = gpus ? runtime::to_json(*gpus) : base::Json{{"error", gpus.error().message}};
    (void)std::puts(("\n" + base::dump(answer)).c_str()); // the library may have printed an incomplete line
    return gpus ? 0 : 1;
}
