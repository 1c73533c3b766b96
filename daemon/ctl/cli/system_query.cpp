// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/system_query.hpp"

#include "daemon/base/process.hpp"

namespace gpuhost::ctl {

namespace {

constexpr std::chrono::seconds time_to_answer{10};

} // namespace

ProgramAnswer query_program(std::vector<std::string> argv, std::size_t limit) {
    base::Command command;
    command.argv = std::move(argv);
    command.deadline = time_to_answer;
    command.drop_errors = true;
    command.output_limit = limit + 1; // one more byte, to detect a longer output
    auto finished = base::run(command);
    if (!finished)
        return {{}, false, false, "can't be started: " + finished.error().message};
    ProgramAnswer answer{std::move(finished->output), false, finished->timed_out, {}};
    answer.is_cut = answer.text.size() > limit;
    if (answer.is_cut)
        answer.text.resize(limit);
    if (finished->timed_out)
        answer.problem = "timed out after " + std::to_string(time_to_answer.count()) + " seconds";
    else if (finished->exit_status != 0)
        answer.problem = "exited with status " + std::to_string(finished->exit_status);
    return answer;
}

std::optional<std::string> ask_program(std::vector<std::string> argv) {
    auto answer = query_program(std::move(argv), std::size_t{1} << 20U);
    return answer.problem.empty() ? std::optional(std::move(answer.text)) : std::nullopt;
}

} // namespace gpuhost::ctl
