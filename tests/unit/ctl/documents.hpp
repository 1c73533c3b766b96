// SPDX-License-Identifier: Apache-2.0
// Sample documents of the daemon for the tests of gpuhostctl.
#pragma once

#include "daemon/base/json.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

/// Returns a swap in three steps with these states.
inline base::Json swap_operation(const std::string& state, const std::vector<std::string>& states) {
    base::Json steps = base::Json::array();
    const std::vector<std::string> summaries{"stop nvidia-persistenced.service", "load nvidia 550.163.01",
                                             "point libraries at 550.163.01"};
    for (std::size_t i = 0; i < summaries.size(); ++i)
        steps.push_back({{"kind", "k"}, {"summary", summaries[i]}, {"state", states.at(i)}});
    return {{"id", 12},
            {"kind", "driver.swap"},
            {"title", "swap driver 535.261.03 → 550.163.01"},
            {"state", state},
            {"progress", 0.43},
            {"text", ""},
            {"steps", steps},
            {"problems", base::Json::array()},
            {"error", nullptr},
            {"subject", {{"uid", 0}, {"pid", 812}, {"command", "gpuhostctl"}}},
            {"began_us", 1'000'000'000},
            {"ended_us", 1'012'000'000},
            {"outputs", base::Json::array()}};
}

inline base::Json error_document(const std::string& code, const std::string& message,
                                 const std::string& hint) {
    return {{"code", code}, {"message", message}, {"hint", hint}};
}

} // namespace gpuhost::ctl
