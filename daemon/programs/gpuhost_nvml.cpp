// SPDX-License-Identifier: Apache-2.0
// gpuhost-nvml: describes the GPUs and their MIG instances, with facts that only NVIDIA's management library
// (NVML) knows. "mig" describes what a re-creation of the instances needs, "mig-restore" creates the
// instances that a file describes, of all GPUs or of none; "mig-restore-each" and "mig-restore-boot" leave
// out GPUs.
// Runs as a separate process, because the library may hang or crash; see daemon/runtime/gpu/nvml_answer.hpp.
#include "daemon/base/handle.hpp"
#include "daemon/base/hex.hpp"
#include "daemon/base/json.hpp"
#include "daemon/devices/mig/nvml_geometry.hpp"
#include "daemon/devices/mig/nvml_restore.hpp"
#include "daemon/runtime/gpu/nvml_answer.hpp"
#include "daemon/runtime/gpu/nvml_library.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>

#include <fcntl.h>

namespace {

using namespace gpuhost; // NOLINT: this file only
using base::Errc;
using base::Result;
using runtime::NvmlGpu;
using runtime::NvmlInstance;
using runtime::NvmlLibrary;
namespace nvml = runtime::nvml;

constexpr std::size_t text_buffer = 96;                ///< the size that nvml.h requires of UUIDs and names
constexpr std::array graphics_profiles{10U, 11U, 12U}; ///< the profiles that nvml.h calls …_SLICE_GFX

using Buffer = std::array<char, text_buffer>;

class Question {
  public:
    explicit Question(const NvmlLibrary& library) : library_(library) {}

    [[nodiscard]] Result<std::vector<NvmlGpu>> ask() const {
        unsigned count = 0;
        GPUHOST_CHECK(check("nvmlDeviceGetCount_v2", library_.device_count(&count)));
        int cuda = 0;
        if (library_.cuda_version(&cuda) != nvml::success || cuda < 0)
            cuda = 0;
        std::vector<NvmlGpu> gpus;
        std::vector<nvml::Device> devices; // of these GPUs
        for (unsigned index = 0; index < count; ++index) {
            nvml::Device device = nullptr;
            NvmlGpu gpu; // a faulty GPU, which is skipped, must not hide the others
            if (library_.device_by_index(index, &device) != nvml::success ||
                library_.minor_number(device, &gpu.minor) != nvml::success)
                continue;
            gpu.index = index;
            gpu.cuda_version = static_cast<unsigned>(cuda);
            add_facts(device, gpu);
            if (const auto described = describe(device, gpu); !described)
                gpu.problem = described.error().message;
            gpus.push_back(std::move(gpu));
            devices.push_back(device);
        }
        for (std::size_t i = 0; i < gpus.size(); ++i)
            gpus[i].nvlinks = nvlinks_of(devices[i], gpus);
        return gpus;
    }

  private:
    [[nodiscard]] Result<void> check(const char* function, int error) const {
        if (error == nvml::success)
            return {};
        return base::fail(Errc::Failed, library_.describe(function, error));
    }

    /// Adds what describes a GPU. A fact that the library does not know stays empty.
    void add_facts(nvml::Device device, NvmlGpu& gpu) const {
        Buffer text{};
        if (library_.uuid(device, text.data(), text.size() - 1) == nvml::success)
            gpu.uuid = nvml::printable(text.data(), text.size());
        text = {};
        if (library_.name(device, text.data(), text.size() - 1) == nvml::success)
            gpu.model = nvml::printable(text.data(), text.size());
        nvml::PciInfo pci{};
        if (library_.pci_info(device, &pci) == nvml::success)
            gpu.address = nvml::address_of(pci);
        gpu.memory_mib = memory_of(device) >> 20U;
        int major = 0;
        int minor = 0;
        if (library_.compute_capability(device, &major, &minor) == nvml::success)
            gpu.compute_capability = std::to_string(major) + "." + std::to_string(minor);
        int mode = 0;
        gpu.vgpu = library_.virtualization(device, &mode) == nvml::success && mode == nvml::virtual_gpu;
        add_memory_state(device, gpu);
        nvml::FabricInfo info{};
        if (library_.fabric(device, &info) != nvml::success)
            return;
        gpu.fabric = fabric_of(info);
        gpu.joins_fabric = info.state == nvml::fabric_not_started || info.state == nvml::fabric_in_progress;
    }

    /// GPUs before Ampere retire pages of faulty memory, and later ones remap rows.
    void add_memory_state(nvml::Device device, NvmlGpu& gpu) const {
        unsigned correctable = 0;
        unsigned uncorrectable = 0;
        unsigned pending = 0;
        unsigned failed = 0;
        if (library_.remapped_rows(device, &correctable, &uncorrectable, &pending, &failed) ==
            nvml::success) {
            gpu.memory_pending = pending != 0;
            gpu.memory_failed = failed != 0;
            return;
        }
        int retiring = 0;
        gpu.memory_pending =
            library_.retired_pages_pending(device, &retiring) == nvml::success && retiring == 1;
    }

    /// Returns the cluster's UUID and the clique of a GPU behind NVLink switches; empty for other GPUs.
    [[nodiscard]] static std::string fabric_of(const nvml::FabricInfo& info) {
        if (info.state != nvml::fabric_completed || info.status != nvml::success ||
            std::all_of(std::begin(info.cluster), std::end(info.cluster), [](auto c) { return c == 0; }))
            return {};
        std::string uuid = base::to_hex(info.cluster);
        for (const std::size_t dash : {8U, 13U, 18U, 23U})
            uuid.insert(dash, 1, '-');
        return uuid + "." + std::to_string(info.clique);
    }

    /// Returns the active NVLinks to other GPUs of this host. A link that the library can't describe is left
    /// out, and so is a link to a switch: its address is of no GPU.
    [[nodiscard]] std::vector<runtime::NvmlLinks> nvlinks_of(nvml::Device device,
                                                             const std::vector<NvmlGpu>& gpus) const {
        std::map<unsigned, unsigned> counts; // of links, by the minor number of the other GPU
        for (unsigned link = 0; link < nvml::nvlinks_per_gpu; ++link) {
            int active = 0;
            nvml::PciInfo peer{};
            if (library_.nvlink_state(device, link, &active) != nvml::success || active != 1 ||
                library_.nvlink_peer(device, link, &peer) != nvml::success)
                continue;
            const std::string address = nvml::address_of(peer);
            const auto found = std::find_if(gpus.begin(), gpus.end(),
                                            [&](const NvmlGpu& gpu) { return gpu.address == address; });
            if (found != gpus.end() && !address.empty())
                ++counts[found->minor];
        }
        std::vector<runtime::NvmlLinks> nvlinks;
        for (const auto& [minor, count] : counts)
            nvlinks.push_back({minor, count});
        return nvlinks;
    }

    /// Returns the memory of a GPU in bytes; 0 if it is unknown.
    [[nodiscard]] std::uint64_t memory_of(nvml::Device device) const {
        nvml::Memory memory{};
        return library_.memory(device, &memory) == nvml::success ? memory.total : 0;
    }

    [[nodiscard]] Result<void> describe(nvml::Device device, NvmlGpu& gpu) const {
        unsigned mode = 0;
        unsigned pending = 0;
        const int error = library_.mig_mode(device, &mode, &pending);
        if (error == nvml::not_supported || error == nvml::function_not_found)
            return {};
        GPUHOST_CHECK(check("nvmlDeviceGetMigMode", error));
        gpu.mig_capable = true;
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
        Buffer uuid{};
        GPUHOST_CHECK(check("nvmlDeviceGetUUID", library_.uuid(instance, uuid.data(), uuid.size() - 1)));
        described.uuid = uuid.data();
        GPUHOST_CHECK(
            check("nvmlDeviceGetGpuInstanceId", library_.gpu_instance_id(instance, &described.gpu_instance)));
        GPUHOST_CHECK(check("nvmlDeviceGetComputeInstanceId",
                            library_.compute_instance_id(instance, &described.compute_instance)));
        // A library that is too old for these functions has no graphics instances.
        if (const auto profile = profile_of(device, described.gpu_instance)) {
            described.graphics = std::find(graphics_profiles.begin(), graphics_profiles.end(), *profile) !=
                                 graphics_profiles.end();
            nvml::Attributes attributes{};
            if (library_.attributes(instance, &attributes) == nvml::success)
                add_attributes(attributes, *profile, memory_of(device), described);
        }
        return described;
    }

    /// Returns the number that nvml.h gives the profile of a GPU instance.
    [[nodiscard]] std::optional<unsigned> profile_of(nvml::Device device, unsigned id) const {
        nvml::GpuInstance instance = nullptr;
        nvml::GpuInstanceInfo info{};
        if (library_.gpu_instance_by_id(device, id, &instance) != nvml::success ||
            library_.gpu_instance_info(instance, &info) != nvml::success)
            return std::nullopt;
        for (unsigned profile = 0; profile <= nvml::last_gpu_instance_profile; ++profile) {
            nvml::GpuInstanceProfileInfo of_profile{};
            if (library_.gpu_instance_profile(device, profile, &of_profile) == nvml::success &&
                of_profile.id == info.profile_id)
                return profile;
        }
        return std::nullopt;
    }

    /// `memory`: of the GPU, in bytes.
    static void add_attributes(const nvml::Attributes& attributes, unsigned profile, std::uint64_t memory,
                               NvmlInstance& instance) {
        instance.profile =
            runtime::mig_profile_name(profile, {attributes.gpu_slice_count, attributes.compute_slice_count,
                                                attributes.memory_size_mb, memory});
        instance.attributes = {static_cast<unsigned>(attributes.memory_size_mb),
                               attributes.multiprocessor_count,
                               attributes.gpu_slice_count,
                               attributes.compute_slice_count,
                               attributes.copy_engine_count,
                               attributes.decoder_count,
                               attributes.encoder_count,
                               attributes.jpeg_count,
                               attributes.ofa_count};
    }

    const NvmlLibrary& library_;
};

Result<base::Json> describe_gpus(const NvmlLibrary& library) {
    GPUHOST_TRY(gpus, Question(library).ask());
    return runtime::to_json(gpus);
}

Result<base::Json> describe_mig(const NvmlLibrary& library) {
    GPUHOST_TRY(geometry, devices::NvmlGeometry(library).read());
    return devices::to_json(geometry);
}

Result<base::Json> restore_mig(const NvmlLibrary& library, const std::string& file, devices::Restore scope) {
    const base::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return base::fail_errno("opening '" + file + "'", errno);
    GPUHOST_TRY(text, base::read_all(fd.get(), devices::largest_geometry, file));
    GPUHOST_TRY(value, base::parse_json(text, file));
    GPUHOST_TRY(saved, devices::geometry_from_json(value));
    return devices::to_json(devices::restore_geometry(library, saved, scope));
}

Result<base::Json> answer(const std::vector<std::string>& words) {
    GPUHOST_TRY(library, NvmlLibrary::start(words[0]));
    if (words.size() == 1)
        return describe_gpus(library);
    if (words[1] == "mig")
        return describe_mig(library);
    return restore_mig(library, words[2], devices::restore_of(words[1]).value());
}

bool is_valid(const std::vector<std::string>& words) {
    return words.size() == 1 || (words.size() == 2 && words[1] == "mig") ||
           (words.size() == 3 && devices::restore_of(words[1]));
}

} // namespace

int main(int argc, char* argv[]) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (!is_valid(words)) {
        (void)std::fputs("usage: gpuhost-nvml LIBRARY [mig | mig-restore FILE | mig-restore-each FILE | "
                         "mig-restore-boot FILE]\n",
                         stderr);
        return 2;
    }
    const auto answered = answer(words);
    const base::Json json = answered ? *answered : base::Json{{"error", answered.error().message}};
    (void)std::puts(("\n" + base::dump(json)).c_str()); // the library may have printed an incomplete line
    return answered ? 0 : 1;
}
