// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/system_query.hpp"

#include "daemon/base/process.hpp"

namespace gpuhost::ctl {

std::optional<std::string> ask_program(std::vector<std::string> argv) {
    base::Command command;
    command.argv = std::move(argv);
    command.deadline = std::chrono::seconds(10);
    command.drop_errors = true;
    const auto finished = base::run(command);
    if (!finished || finished->exit_status != 0 || finished->timed_out)
        return std::nullopt;
    return finished->output;
}

} // namespace gpuhost::ctl
