// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::ctl {

/// What a program of the system answers within ten seconds, at most a MiB of it. Nothing where it can't be started, fails or
/// takes longer.
[[nodiscard]] std::optional<std::string> ask_program(std::vector<std::string> argv);

} // namespace gpuhost::ctl
