// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/trusted_program.hpp"

#include "daemon/base/parse.hpp"

#include <sys/stat.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t output_limit = 4U << 20U;

bool only_root_writes(const struct stat& st) {
    return st.st_uid == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Returns true if only root can replace `path`, which contains no links: checks each directory above it,
/// including "/".
bool is_in_roots_hands(const base::Root& root, const std::string& path) {
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos;
         slash = slash == 0 ? std::string::npos : path.rfind('/', slash - 1)) {
        const auto st = root.lstat(slash == 0 ? "/" : path.substr(0, slash));
        if (!st || !S_ISDIR(st->st_mode) || !only_root_writes(*st))
            return false;
    }
    return true;
}

} // namespace

Result<base::UniqueFd> open_trusted(const base::Root& root, const std::string& path) {
    GPUHOST_TRY(file, root.open_file(path, O_PATH));
    struct stat st {};
    if (::fstat(file.get(), &st) < 0 || !S_ISREG(st.st_mode) || !only_root_writes(st))
        return base::fail(Errc::Refused, "'" + path + "' is not a regular file that only root may write");
    // Links in `path` may belong to other users: the checks use the real path of the opened file.
    GPUHOST_TRY(canonical, root.read_link("/proc/self/fd/" + std::to_string(file.get())));
    if (!is_in_roots_hands(root, canonical))
        return base::fail(Errc::Refused, "others than root may write to a directory of '" + path + "'");
    return std::move(file);
}

Result<base::Finished> run_trusted(const base::Root& root, std::vector<std::string> argv,
                                   std::chrono::milliseconds deadline, bool drop_errors) {
    const std::string executable = argv.empty() ? "" : argv.front();
    if (!root.is_host() || !base::starts_with(executable, "/"))
        return base::fail(Errc::Refused, "'" + executable + "' is not a program of the running host");
    GPUHOST_TRY(file, open_trusted(root, executable));
    base::Command command;
    command.argv = std::move(argv);
    // Starts the file that was checked. argv[0] keeps the program's name, because some programs act by it.
    command.program = "/proc/self/fd/" + std::to_string(file.get());
    command.deadline = deadline;
    command.output_limit = output_limit;
    command.drop_errors = drop_errors;
    return base::run(command);
}

} // namespace gpuhost::runtime
