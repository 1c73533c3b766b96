// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::ctl {

struct ProgramAnswer {
    std::string text;
    bool is_cut = false; ///< the output is longer than `limit`
    bool timed_out = false;
    std::string problem; ///< why the program failed, as a phrase: "ended with status 1"; empty: no failure
};
/// Runs a system program for at most ten seconds and returns at most `limit` bytes of its output.
[[nodiscard]] ProgramAnswer query_program(std::vector<std::string> argv, std::size_t limit);

/// Returns at most 1 MiB of the program's output; nullopt if it can't be started, fails or times out.
[[nodiscard]] std::optional<std::string> ask_program(std::vector<std::string> argv);

} // namespace gpuhost::ctl
