// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/job.hpp"

#include <algorithm>

namespace gpuhost::core {

using base::Errc;
using base::Json;
using base::Result;

std::string staging_of(std::uint64_t transaction) {
    return std::string(staging_directory) + "/" + std::to_string(transaction);
}

std::string job_directory(std::string_view job) {
    return std::string(jobs_directory) + "/" + std::string(job);
}

Json to_json(const JobRequest& request) {
    Json steps = Json::array();
    for (const Step& step : request.steps)
        steps.push_back(to_json(step));
    return Json{{"job", request.job},           {"phase", name(request.phase)}, {"steps", std::move(steps)},
                {"settings", request.settings}, {"boot_id", request.boot_id},   {"staging", request.staging},
                {"inputs", request.inputs}};
}

Result<JobRequest> job_request_from_json(const Json& value) {
    JobRequest request;
    GPUHOST_TRY(job, base::get_string(value, "job"));
    GPUHOST_TRY(phase_name, base::get_string(value, "phase"));
    const auto phase = phase_from_name(phase_name);
    if (!phase)
        return base::fail(Errc::BadContent, "job request: unknown phase '" + phase_name + "'");
    const Json& steps = base::member(value, "steps");
    if (!steps.is_array() || steps.empty())
        return base::fail(Errc::BadContent, "job request: no steps");
    for (const Json& item : steps) {
        GPUHOST_TRY(step, step_from_json(item));
        request.steps.push_back(std::move(step));
    }
    request.job = std::move(job);
    request.phase = *phase;
    request.settings = base::member(value, "settings");
    request.boot_id = base::string_or(value, "boot_id", "");
    request.staging = base::string_or(value, "staging", "");
    request.inputs = static_cast<std::size_t>(base::int_or(value, "inputs", 0));
    return request;
}

std::string encode_event(const JobProgress& progress) {
    return base::dump(Json{{"progress", progress.fraction}, {"text", progress.text}}) + "\n";
}

namespace {

/// Lists as many problems as fit in `room` bytes. If some do not fit, an additional problem states how many
/// are not listed.
Json listed_problems(const std::vector<Problem>& problems, std::size_t room) {
    Json listed = Json::array();
    std::size_t used = 0;
    for (std::size_t i = 0; i < problems.size(); ++i) {
        Json problem = to_json(problems[i]);
        used += base::dump(problem).size() + 1;
        if (used > room) {
            const std::string left = std::to_string(problems.size() - i);
            listed.push_back(to_json(Problem{problems[i].code, left + " more problems are not listed", {}}));
            break;
        }
        listed.push_back(std::move(problem));
    }
    return listed;
}

} // namespace

std::string encode_event(const JobResult& result) {
    Json value{{"result", result.error ? "error" : "ok"}, {"output", result.output}};
    if (result.error)
        value["error"] = base::to_json(*result.error);
    if (!result.problems.empty())
        value["problems"] = listed_problems(
            result.problems, event_limit - std::min(event_limit, base::dump(value).size() + 1024));
    return base::dump(value) + "\n";
}

std::string encode_next(std::size_t index) {
    return base::dump(Json{{"next", index}}) + "\n";
}

JobEvent decode_event(std::string_view line) {
    JobEvent event;
    const auto value = base::parse_json(line, "job event");
    if (!value || !value->is_object())
        return event;
    if (const Json& next = base::member(*value, "next"); next.is_number_unsigned())
        event.next = next.get<std::size_t>();
    if (const Json& fraction = base::member(*value, "progress"); fraction.is_number())
        event.progress = JobProgress{fraction.get<double>(), base::string_or(*value, "text", "")};
    if (!value->contains("result"))
        return event;
    JobResult& result = event.result.emplace();
    if (base::member(*value, "error").is_object())
        result.error = base::error_from_json(base::member(*value, "error"));
    result.problems = problems_from_json(base::member(*value, "problems"));
    result.output = base::member(*value, "output");
    if (!result.output.is_null() && !result.output.is_object()) {
        result.output = nullptr;
        result.error = base::Error{Errc::BadContent, "the worker's output is not an object", {}};
    }
    return event;
}

} // namespace gpuhost::core
