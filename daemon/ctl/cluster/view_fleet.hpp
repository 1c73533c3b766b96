// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <cstdint>
#include <string>

namespace gpuhost::ctl {

struct FleetView {
    bool all = false;     ///< each host a line, those that are done, too
    std::size_t rows = 0; ///< at most so many lines; 0: as many as there are
    std::int64_t now = 0; ///< seconds since 1970
    std::string problem;  ///< why the document may be out of date; empty: it is not
};

/// How far each pool is, then hosts: what has failed first. Many that say the same are one line. Cut to a terminal's width.
[[nodiscard]] std::string render_fleet(const Screen& screen, const base::Json& document,
                                       const FleetView& view);

/// A line for each host and pool that says something else: for who follows without a terminal.
[[nodiscard]] std::string fleet_changes(const base::Json& before, const base::Json& after);

} // namespace gpuhost::ctl
