// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/restored.hpp"

#include "daemon/base/json.hpp"

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t most_gpus = 256;
constexpr std::size_t most_problems = 1000;
constexpr std::size_t longest_problem = 1000;

} // namespace

Json to_json(const std::vector<RestoredGpu>& gpus) {
    Json list = Json::array();
    for (const RestoredGpu& gpu : gpus)
        list.push_back({{"uuid", gpu.uuid},
                        {"address", gpu.address},
                        {"mode_changed", gpu.mode_changed},
                        {"created", gpu.created},
                        {"kept", gpu.kept},
                        {"problems", gpu.problems}});
    return {{"gpus", std::move(list)}};
}

Result<std::vector<RestoredGpu>> restored_from_json(const Json& value) {
    const Json& list = base::member(value, "gpus");
    if (!list.is_array() || list.size() > most_gpus)
        return base::fail(Errc::BadContent, "the answer about MIG instances has no valid list of GPUs");
    std::vector<RestoredGpu> gpus;
    for (const Json& element : list) {
        RestoredGpu gpu;
        gpu.uuid = base::string_or(element, "uuid", "");
        gpu.address = base::string_or(element, "address", "");
        gpu.mode_changed = base::bool_or(element, "mode_changed", false);
        GPUHOST_TRY(created, base::get_int(element, "created"));
        GPUHOST_TRY(kept, base::get_int(element, "kept"));
        gpu.created = static_cast<std::size_t>(created);
        gpu.kept = static_cast<std::size_t>(kept);
        GPUHOST_TRY(problems, base::get_strings(element, "problems"));
        if (created < 0 || kept < 0 || problems.size() > most_problems)
            return base::fail(Errc::BadContent, "the answer about MIG instances has an invalid number");
        for (std::string& problem : problems)
            gpu.problems.push_back(problem.substr(0, longest_problem));
        gpus.push_back(std::move(gpu));
    }
    return gpus;
}

} // namespace gpuhost::devices
