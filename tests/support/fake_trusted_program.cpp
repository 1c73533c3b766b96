// SPDX-License-Identifier: Apache-2.0
// In place of daemon/runtime/inspect/trusted_program.cpp: a tree's own programs, which a test has put there.
#include "daemon/runtime/inspect/trusted_program.hpp"

#include <fcntl.h>

namespace gpuhost::runtime {

base::Result<base::UniqueFd> open_trusted(const base::Root& root, const std::string& path) {
    return root.open_file(path, O_PATH);
}

base::Result<base::Finished> run_trusted(const base::Root& root, std::vector<std::string> argv,
                                         std::chrono::milliseconds deadline, bool drop_errors) {
    if (root.is_host())
        return base::fail(base::Errc::Refused, "a test runs no program of the host");
    base::Command command;
    command.argv = std::move(argv);
    command.argv.front() = root.host_path(command.argv.front());
    command.environment = {"FAKE_ROOT=" + root.directory()};
    command.deadline = deadline;
    command.drop_errors = drop_errors;
    return base::run(command);
}

} // namespace gpuhost::runtime
