// SPDX-License-Identifier: Apache-2.0
// Runs programs of the host, as root, that print information about themselves, such as "containerd config
// dump".
#pragma once

#include "daemon/base/process.hpp"
#include "daemon/base/root.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Opens a program. Fails with Refused unless the file and all directories above its real path are writable
/// by root alone. Tests replace open_trusted() and run_trusted() at link time.
[[nodiscard]] base::Result<base::UniqueFd> open_trusted(const base::Root& root, const std::string& path);

/// Runs a program as root. Fails with Refused if another user could have written the program, and if `root`
/// is not the host's "/". `argv[0]` is an absolute path. Tests link a version that runs programs of a test
/// tree.
[[nodiscard]] base::Result<base::Finished> run_trusted(const base::Root& root, std::vector<std::string> argv,
                                                       std::chrono::milliseconds deadline,
                                                       bool drop_errors = false);

} // namespace gpuhost::runtime
