// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/gpu/nvml_answer.hpp"

#include "daemon/base/installed.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/inspect/trusted_program.hpp"

#include <algorithm>

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

/// Returns true if the text is safe as the name of a device that people type.
bool is_mig_uuid(const std::string& uuid) {
    return base::starts_with(uuid, "MIG-") && uuid.size() > 4 && uuid.size() < 100 && uuid.back() != '-' &&
           std::all_of(uuid.begin(), uuid.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
           });
}

Result<NvmlInstance> read_instance(const Json& value) {
    NvmlInstance instance;
    GPUHOST_TRY(index, get_number(value, "index"));
    GPUHOST_TRY(uuid, base::get_string(value, "uuid"));
    GPUHOST_TRY(gpu_instance, get_number(value, "gpu_instance"));
    GPUHOST_TRY(compute_instance, get_number(value, "compute_instance"));
    if (!is_mig_uuid(uuid))
        return base::fail(Errc::BadContent, "NVML's answer has an invalid MIG UUID");
    return NvmlInstance{index, std::move(uuid), gpu_instance, compute_instance,
                        base::bool_or(value, "graphics", false)};
}

Result<NvmlGpu> read_gpu(const Json& value) {
    NvmlGpu gpu;
    GPUHOST_TRY(minor, get_number(value, "minor"));
    gpu.minor = minor;
    gpu.split = base::bool_or(value, "split", false);
    gpu.problem = base::string_or(value, "problem", "");
    for (const Json& element : base::member(value, "instances")) {
        GPUHOST_TRY(instance, read_instance(element));
        gpu.instances.push_back(std::move(instance));
    }
    return gpu;
}

} // namespace

Json to_json(const std::vector<NvmlGpu>& gpus) {
    Json list = Json::array();
    for (const NvmlGpu& gpu : gpus) {
        Json instances = Json::array();
        for (const NvmlInstance& one : gpu.instances)
            instances.push_back({{"index", one.index},
                                 {"uuid", one.uuid},
                                 {"gpu_instance", one.gpu_instance},
                                 {"compute_instance", one.compute_instance},
                                 {"graphics", one.graphics}});
        list.push_back({{"minor", gpu.minor},
                        {"split", gpu.split},
                        {"instances", std::move(instances)},
                        {"problem", gpu.problem}});
    }
    return {{"gpus", std::move(list)}};
}

Result<std::vector<NvmlGpu>> parse_nvml_answer(std::string_view text) {
    text = text.substr(0, text.find_last_not_of('\n') + 1);
    text = text.substr(text.rfind('\n') + 1); // npos + 1 is 0
    GPUHOST_TRY(answer, base::parse_json(text, "NVML's answer"));
    if (const std::string error = base::string_or(answer, "error", ""); !error.empty())
        return base::fail(Errc::Failed, "NVML: " + error);
    if (!base::member(answer, "gpus").is_array())
        return base::fail(Errc::BadContent, "NVML's answer has no GPUs");
    std::vector<NvmlGpu> gpus;
    for (const Json& element : base::member(answer, "gpus")) {
        GPUHOST_TRY(gpu, read_gpu(element));
        gpus.push_back(std::move(gpu));
    }
    return gpus;
}

Result<std::vector<NvmlGpu>> ask_nvml(const base::Root& host, const std::string& library) {
    // The library is loaded by root, and --driver-root may name a directory that another user can write.
    if (host.is_host() && ::geteuid() == 0)
        GPUHOST_CHECK(open_trusted(host, library));
    GPUHOST_TRY(finished,
                run_trusted(host, {base::installed_program("gpuhost-nvml"), host.host_path(library)},
                            patience, true));
    if (finished.timed_out)
        return base::fail(Errc::Timeout,
                          "NVML did not answer within " + std::to_string(patience.count()) + " s");
    if (finished.output.empty())
        return base::fail(Errc::Failed,
                          "NVML gave no answer: exit status " + std::to_string(finished.exit_status));
    return parse_nvml_answer(finished.output);
}

} // namespace gpuhost::runtime
