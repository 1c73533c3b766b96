// SPDX-License-Identifier: Apache-2.0
// Replaces daemon/runtime/inspect/trusted_program.cpp: uses programs that a test has put into the root.
#include "daemon/runtime/inspect/trusted_program.hpp"

#include <fcntl.h>

namespace gpuhost::runtime {

base::Result<base::UniqueFd> open_trusted(const base::Root& root, const std::string& path) {
    return root.open_file(path, O_PATH);
}

base::Result<base::Finished> run_trusted(const base::Root& root, std::vector<std::string> argv,
                                         std::chrono::milliseconds deadline, bool drop_errors) {
    if (root.is_host())
        return base::fail(base::Errc::Refused, "tests do not run programs of this machine");
    base::Command command;
    command.argv = std::move(argv);
    command.argv.front() = root.host_path(command.argv.front());
    command.environment = {"FAKE_ROOT=" + root.directory()};
    command.deadline = deadline;
    command.drop_errors = drop_errors;
    return base::run(command);
}

} // namespace gpuhost::runtime
