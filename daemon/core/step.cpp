// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/step.hpp"

#include <chrono>

#include <fcntl.h>

namespace gpuhost::core {

using base::Json;
using base::Result;

std::string_view name(Sandbox sandbox) noexcept {
    switch (sandbox) {
    case Sandbox::Parse:
        return "parse";
    case Sandbox::Content:
        return "content";
    case Sandbox::Compile:
        return "compile";
    case Sandbox::Sign:
        return "sign";
    case Sandbox::Store:
        return "store";
    case Sandbox::System:
        return "system";
    case Sandbox::Boot:
        return "boot";
    case Sandbox::Modules:
        return "modules";
    case Sandbox::Units:
        return "units";
    case Sandbox::Runtimes:
        return "runtimes";
    case Sandbox::Devices:
        return "devices";
    case Sandbox::Mig:
        return "mig";
    }
    return "store";
}

void hold_open(const StepContext& context, const std::vector<std::string>& paths) {
    constexpr std::chrono::seconds patience{60};
    const auto until = std::chrono::steady_clock::now() + patience;
    for (const std::string& path : paths)
        if (std::chrono::steady_clock::now() < until)
            if (auto fd = context.root.open_file(path, O_RDWR))
                context.keep(std::move(*fd));
}

Json to_json(const Step& step) {
    Json value{{"kind", step.kind}, {"summary", step.summary}, {"args", step.args}};
    if (step.forward)
        value["forward"] = true;
    if (step.passive)
        value["passive"] = true;
    if (step.undo_only)
        value["undo_only"] = true;
    return value;
}

Result<Step> step_from_json(const Json& value) {
    GPUHOST_TRY(kind, base::get_string(value, "kind"));
    GPUHOST_TRY(summary, base::get_string(value, "summary"));
    return Step{std::move(kind),
                std::move(summary),
                base::member(value, "args"),
                base::bool_or(value, "forward", false),
                base::bool_or(value, "passive", false),
                base::bool_or(value, "undo_only", false)};
}

Json to_json(const Problem& problem) {
    Json value{{"code", base::info(problem.code).name}, {"text", problem.text}, {"hint", problem.hint}};
    if (!problem.details.is_null())
        value["details"] = problem.details;
    return value;
}

Problem problem_from_json(const Json& value) {
    return Problem{base::errc_from_name(base::string_or(value, "code", "refused")),
                   base::string_or(value, "text", ""), base::string_or(value, "hint", ""),
                   base::member(value, "details")};
}

Json to_json(const std::vector<Problem>& problems) {
    Json array = Json::array();
    for (const Problem& problem : problems)
        array.push_back(to_json(problem));
    return array;
}

std::vector<Problem> problems_from_json(const Json& array) {
    std::vector<Problem> problems;
    if (array.is_array())
        std::transform(array.begin(), array.end(), std::back_inserter(problems), problem_from_json);
    return problems;
}

} // namespace gpuhost::core
