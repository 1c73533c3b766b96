// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/restored.hpp"

#include "daemon/base/json.hpp"
#include "daemon/devices/mig/geometry.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t most_texts = 1000;
constexpr std::array<std::pair<Restore, const char*>, 3> verbs{{{Restore::all_or_none, "mig-restore"},
                                                                {Restore::each_gpu, "mig-restore-each"},
                                                                {Restore::after_boot, "mig-restore-boot"}}};

/// Reads a list of texts, and cuts each.
Result<std::vector<std::string>> texts_of(const Json& value, std::string_view key) {
    GPUHOST_TRY(texts, base::get_strings(value, key));
    if (texts.size() > most_texts)
        return base::fail(Errc::BadContent,
                          "the answer about MIG instances has too many " + std::string(key));
    for (std::string& text : texts)
        text = text.substr(0, longest_problem);
    return std::move(texts);
}

} // namespace

const char* verb_of(Restore scope) noexcept {
    return std::find_if(verbs.begin(), verbs.end(), [&](const auto& one) { return one.first == scope; })
        ->second;
}

std::optional<Restore> restore_of(std::string_view verb) noexcept {
    const auto* const found =
        std::find_if(verbs.begin(), verbs.end(), [&](const auto& one) { return verb == one.second; });
    return found == verbs.end() ? std::nullopt : std::optional(found->first);
}

Json to_json(const std::vector<RestoredGpu>& gpus) {
    Json list = Json::array();
    for (const RestoredGpu& gpu : gpus)
        list.push_back({{"uuid", gpu.uuid},
                        {"address", gpu.address},
                        {"mode_changed", gpu.mode_changed},
                        {"created", gpu.created},
                        {"kept", gpu.kept},
                        {"problems", gpu.problems},
                        {"commands", gpu.commands}});
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
        if (created < 0 || kept < 0)
            return base::fail(Errc::BadContent, "the answer about MIG instances has an invalid number");
        GPUHOST_TRY(problems, texts_of(element, "problems"));
        gpu.problems = std::move(problems);
        GPUHOST_TRY(commands, texts_of(element, "commands"));
        gpu.commands = std::move(commands);
        gpus.push_back(std::move(gpu));
    }
    return gpus;
}

} // namespace gpuhost::devices
