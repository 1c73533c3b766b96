// SPDX-License-Identifier: Apache-2.0
// Programs of the host that answer a question about themselves, as "containerd config dump".
#pragma once

#include "daemon/base/process.hpp"
#include "daemon/base/root.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Refused where anybody but root could put something else: the file itself and all directories above where it really is
/// are root's alone. A seam at link time, as the next one.
[[nodiscard]] base::Result<base::UniqueFd> open_trusted(const base::Root& root, const std::string& path);

/// Refused where anybody but root could have put there what would run as root, and below another root than the host's.
/// `argv[0]` is an absolute path. A seam at link time: tests have one that runs a tree's own programs.
[[nodiscard]] base::Result<base::Finished> run_trusted(const base::Root& root, std::vector<std::string> argv,
                                                       std::chrono::milliseconds deadline,
                                                       bool drop_errors = false);

} // namespace gpuhost::runtime
