// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/operation_result.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost {

using base::Errc;
using base::Json;
using base::string_or;

bool is_running(const std::string& state) {
    return state == "running" || state == "undoing";
}

std::string lasting_problems(const Json& problems) {
    std::string all;
    if (!problems.is_array())
        return all;
    for (const Json& problem : problems) {
        if (string_or(problem, "code", "") == "in-use")
            continue;
        const std::string hint = string_or(problem, "hint", "");
        all += all.empty() ? "" : base::ends_with(all, ".") ? " " : "; ";
        all += string_or(problem, "text", "") + (hint.empty() ? "" : ". " + hint);
    }
    return all;
}

std::string text_of(const Json& error) {
    const std::string hint = string_or(error, "hint", "");
    return string_or(error, "message", "it failed") + (hint.empty() ? "" : ". " + hint);
}

bool is_silent(const base::Error& error) {
    return error.code == Errc::Busy || error.code == Errc::Timeout;
}

} // namespace gpuhost
