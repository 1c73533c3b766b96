// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/gpu/nvml_answer.hpp"

#include "daemon/base/installed.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/trusted_program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <unistd.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::chrono::seconds patience{60}; ///< GPUs that are not in use are initialized one after the other
constexpr std::int64_t last_number = 0xffff; ///< upper limit of indices and ids

Result<unsigned> get_number(const Json& object, const char* key) {
    GPUHOST_TRY(number, base::get_int(object, key));
    if (number < 0 || number > last_number)
        return base::fail(Errc::BadContent, "NVML's answer has an invalid " + std::string(key));
    return static_cast<unsigned>(number);
}

constexpr std::int64_t largest_memory = std::int64_t{1} << 40U; ///< MiB
constexpr std::int64_t largest_cuda = 1'000'000;
constexpr std::size_t longest_text = 100;
constexpr std::size_t most_nvlinks = 64; ///< of a GPU; more than any version of NVML knows

bool consists_of(const std::string& text, std::string_view more) {
    return text.size() < longest_text && std::all_of(text.begin(), text.end(), [&](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      more.find(c) != std::string_view::npos;
           });
}

bool is_line(const std::string& text) {
    return text.size() < longest_text &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// The members of MigAttributes in the answer.
constexpr std::array<std::pair<const char*, unsigned MigAttributes::*>, 9> attribute_names{{
    {"memory_mib", &MigAttributes::memory_mib},
    {"multiprocessors", &MigAttributes::multiprocessors},
    {"gpu_slices", &MigAttributes::gpu_slices},
    {"compute_slices", &MigAttributes::compute_slices},
    {"copy_engines", &MigAttributes::copy_engines},
    {"decoders", &MigAttributes::decoders},
    {"encoders", &MigAttributes::encoders},
    {"jpeg_engines", &MigAttributes::jpeg_engines},
    {"ofa_engines", &MigAttributes::ofa_engines},
}};

Json to_json(const MigAttributes& attributes) {
    Json object;
    for (const auto& [name, member] : attribute_names)
        object[name] = attributes.*member;
    return object;
}

/// Reads the resources of a MIG device. They may be absent.
Result<MigAttributes> read_attributes(const Json& value) {
    MigAttributes attributes;
    if (!value.is_object())
        return attributes;
    for (const auto& [name, member] : attribute_names) {
        const std::int64_t number = base::int_or(value, name, 0);
        if (number < 0 || number > std::numeric_limits<std::int32_t>::max())
            return base::fail(Errc::BadContent, "NVML's answer has an invalid " + std::string(name));
        attributes.*member = static_cast<unsigned>(number);
    }
    return attributes;
}

Result<NvmlInstance> read_instance(const Json& value) {
    NvmlInstance instance;
    GPUHOST_TRY(index, get_number(value, "index"));
    GPUHOST_TRY(uuid, base::get_string(value, "uuid"));
    GPUHOST_TRY(gpu_instance, get_number(value, "gpu_instance"));
    GPUHOST_TRY(compute_instance, get_number(value, "compute_instance"));
    if (!is_uuid(uuid, "MIG-"))
        return base::fail(Errc::BadContent, "NVML's answer has an invalid MIG UUID");
    std::string profile = base::string_or(value, "profile", "");
    if (!consists_of(profile, ".+-"))
        return base::fail(Errc::BadContent, "NVML's answer has an invalid MIG profile");
    GPUHOST_TRY(attributes, read_attributes(base::member(value, "attributes")));
    return NvmlInstance{index,
                        std::move(uuid),
                        gpu_instance,
                        compute_instance,
                        base::bool_or(value, "graphics", false),
                        std::move(profile),
                        attributes};
}

/// Reads what describes a GPU. Each member may be absent or empty.
Result<void> read_facts(const Json& value, NvmlGpu& gpu) {
    gpu.uuid = base::string_or(value, "uuid", "");
    gpu.address = base::string_or(value, "address", "");
    gpu.model = base::string_or(value, "model", "");
    gpu.compute_capability = base::string_or(value, "compute_capability", "");
    gpu.fabric = base::string_or(value, "fabric", "");
    gpu.mig_capable = base::bool_or(value, "mig_capable", false);
    gpu.vgpu = base::bool_or(value, "vgpu", false);
    gpu.joins_fabric = base::bool_or(value, "joins_fabric", false);
    gpu.memory_pending = base::bool_or(value, "memory_pending", false);
    gpu.memory_failed = base::bool_or(value, "memory_failed", false);
    const std::int64_t cuda = base::int_or(value, "cuda_version", 0);
    if (cuda < 0 || cuda > largest_cuda)
        return base::fail(Errc::BadContent, "NVML's answer has an invalid cuda_version");
    gpu.cuda_version = static_cast<unsigned>(cuda);
    if ((!gpu.uuid.empty() && !is_uuid(gpu.uuid, "GPU-")) || !is_address(gpu.address) ||
        !is_line(gpu.model) || !consists_of(gpu.compute_capability, ".") || !consists_of(gpu.fabric, "-."))
        return base::fail(Errc::BadContent, "NVML's answer has an invalid UUID, address or name of a GPU");
    if (!value.contains("memory_mib"))
        return {};
    GPUHOST_TRY(memory, base::get_int(value, "memory_mib"));
    if (memory < 0 || memory > largest_memory)
        return base::fail(Errc::BadContent, "NVML's answer has an invalid memory_mib");
    gpu.memory_mib = static_cast<std::uint64_t>(memory);
    return {};
}

/// Reads the NVLinks of a GPU. An earlier gpuhost-nvml does not report them.
Result<std::vector<NvmlLinks>> read_nvlinks(const Json& value) {
    std::vector<NvmlLinks> nvlinks;
    std::size_t total = 0;
    for (const Json& element : base::list_of(value, "nvlinks")) {
        GPUHOST_TRY(minor, get_number(element, "minor"));
        GPUHOST_TRY(count, get_number(element, "count"));
        total += count;
        if (count == 0 || total > most_nvlinks)
            return base::fail(Errc::BadContent, "NVML's answer has an invalid number of NVLinks");
        nvlinks.push_back({minor, count});
    }
    return nvlinks;
}

Result<NvmlGpu> read_gpu(const Json& value) {
    NvmlGpu gpu;
    GPUHOST_TRY(minor, get_number(value, "minor"));
    gpu.minor = minor;
    if (!base::member(value, "index").is_null()) {
        GPUHOST_TRY(index, get_number(value, "index"));
        gpu.index = index;
    }
    gpu.split = base::bool_or(value, "split", false);
    gpu.problem = base::string_or(value, "problem", "");
    GPUHOST_CHECK(read_facts(value, gpu));
    GPUHOST_TRY(nvlinks, read_nvlinks(value));
    gpu.nvlinks = std::move(nvlinks);
    for (const Json& element : base::member(value, "instances")) {
        GPUHOST_TRY(instance, read_instance(element));
        gpu.instances.push_back(std::move(instance));
    }
    return gpu;
}

/// Returns what a profile has beyond slices and memory. The numbers are those of nvml.h.
std::string_view suffix_of(unsigned profile) {
    switch (profile) {
    case 0x7: // 1_SLICE_REV1
    case 0x8: // 2_SLICE_REV1
        return "+me";
    case 0xa: // 1_SLICE_GFX
    case 0xb: // 2_SLICE_GFX
    case 0xc: // 4_SLICE_GFX
        return "+gfx";
    case 0xd: // 1_SLICE_NO_ME
    case 0xe: // 2_SLICE_NO_ME
        return "-me";
    case 0xf:  // 1_SLICE_ALL_ME
    case 0x10: // 2_SLICE_ALL_ME
        return "+me.all";
    default:
        return "";
    }
}

/// Returns the memory of an instance in GiB as it is written: the share of the GPU in eighths, rounded up, of
/// the GPU's memory in GiB, rounded up.
std::uint64_t written_memory(const MigSize& size) {
    constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
    const double share = std::ldexp(static_cast<double>(size.memory_mib), 20) / double(size.total_bytes);
    const double whole = double((size.total_bytes + gib - 1) / gib);
    return static_cast<std::uint64_t>(std::llround(std::ceil(share * 8) / 8 * whole));
}

/// Returns the last line of the output, because NVML may print lines too.
Result<Json> parse_answer(std::string_view text) {
    text = text.substr(0, text.find_last_not_of('\n') + 1);
    text = text.substr(text.rfind('\n') + 1); // npos + 1 is 0
    GPUHOST_TRY(answer, base::parse_json(text, "NVML's answer"));
    if (const std::string error = base::string_or(answer, "error", ""); !error.empty())
        return base::fail(Errc::Failed, "NVML: " + error);
    return std::move(answer);
}

Result<std::vector<NvmlGpu>> gpus_of(const Json& answer) {
    if (!base::member(answer, "gpus").is_array())
        return base::fail(Errc::BadContent, "NVML's answer has no GPUs");
    std::vector<NvmlGpu> gpus;
    for (const Json& element : base::member(answer, "gpus")) {
        GPUHOST_TRY(gpu, read_gpu(element));
        gpus.push_back(std::move(gpu));
    }
    return gpus;
}

} // namespace

bool is_uuid(const std::string& text, std::string_view prefix) {
    return base::starts_with(text, prefix) && text.size() > prefix.size() && text.back() != '-' &&
           consists_of(text, "-");
}

bool is_address(const std::string& text) {
    return consists_of(text, ":.");
}

std::string mig_profile_name(unsigned profile, const MigSize& size) {
    if (size.gpu_slices == 0 || size.compute_slices == 0 || size.memory_mib == 0 || size.total_bytes == 0)
        return {};
    std::string name;
    if (size.compute_slices != size.gpu_slices)
        name = std::to_string(size.compute_slices) + "c.";
    return name + std::to_string(size.gpu_slices) + "g." + std::to_string(written_memory(size)) + "gb" +
           std::string(suffix_of(profile));
}

Json to_json(const std::vector<NvmlGpu>& gpus) {
    Json list = Json::array();
    for (const NvmlGpu& gpu : gpus) {
        Json instances = Json::array();
        for (const NvmlInstance& one : gpu.instances)
            instances.push_back({{"index", one.index},
                                 {"uuid", one.uuid},
                                 {"gpu_instance", one.gpu_instance},
                                 {"compute_instance", one.compute_instance},
                                 {"graphics", one.graphics},
                                 {"profile", one.profile},
                                 {"attributes", to_json(one.attributes)}});
        Json nvlinks = Json::array();
        for (const NvmlLinks& one : gpu.nvlinks)
            nvlinks.push_back({{"minor", one.minor}, {"count", one.count}});
        list.push_back({{"minor", gpu.minor},
                        {"split", gpu.split},
                        {"instances", std::move(instances)},
                        {"problem", gpu.problem},
                        {"uuid", gpu.uuid},
                        {"address", gpu.address},
                        {"model", gpu.model},
                        {"memory_mib", gpu.memory_mib},
                        {"compute_capability", gpu.compute_capability},
                        {"cuda_version", gpu.cuda_version},
                        {"mig_capable", gpu.mig_capable},
                        {"vgpu", gpu.vgpu},
                        {"fabric", gpu.fabric},
                        {"joins_fabric", gpu.joins_fabric},
                        {"nvlinks", std::move(nvlinks)},
                        {"memory_pending", gpu.memory_pending},
                        {"memory_failed", gpu.memory_failed},
                        {"index", gpu.index ? Json(*gpu.index) : Json()}});
    }
    return {{"gpus", std::move(list)}};
}

Result<std::vector<NvmlGpu>> parse_nvml_answer(std::string_view text) {
    GPUHOST_TRY(answer, parse_answer(text));
    return gpus_of(answer);
}

Result<Json> run_nvml(const base::Root& host, const std::string& library, std::vector<std::string> words,
                      std::chrono::seconds patience) {
    // The library is loaded by root, and --driver-root may name a directory that another user can write.
    if (host.is_host() && ::geteuid() == 0)
        GPUHOST_CHECK(open_trusted(host, library));
    words.insert(words.begin(), {base::installed_program("gpuhost-nvml"), host.host_path(library)});
    GPUHOST_TRY(finished, run_trusted(host, std::move(words), patience, true));
    if (finished.timed_out)
        return base::fail(Errc::Timeout,
                          "NVML did not answer within " + std::to_string(patience.count()) + " s");
    if (finished.output.empty())
        return base::fail(Errc::Failed,
                          "NVML gave no answer: exit status " + std::to_string(finished.exit_status));
    return parse_answer(finished.output);
}

Result<std::vector<NvmlGpu>> ask_nvml(const base::Root& host, const std::string& library) {
    GPUHOST_TRY(answer, run_nvml(host, library, {}, patience));
    return gpus_of(answer);
}

} // namespace gpuhost::runtime
