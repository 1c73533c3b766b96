// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::ctl {

struct ProgramAnswer {
    std::string text;
    bool is_cut = false; ///< it says more than `limit`
    bool timed_out = false;
    std::string problem; ///< why there is not more, a phrase: "ended with status 1"; empty: nothing is wrong
};
/// What a program of the system answers within ten seconds, at most `limit` bytes of it.
[[nodiscard]] ProgramAnswer query_program(std::vector<std::string> argv, std::size_t limit);

/// At most a MiB of it. Nothing where it can't be started, fails or takes longer.
[[nodiscard]] std::optional<std::string> ask_program(std::vector<std::string> argv);

} // namespace gpuhost::ctl
