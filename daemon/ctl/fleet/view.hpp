// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <cstdint>
#include <string>

namespace gpuhost::ctl {

struct FleetView {
    bool all = false;     ///< a row for each host, also for finished hosts
    std::size_t rows = 0; ///< maximum number of lines; 0: unlimited
    std::int64_t now = 0; ///< seconds since 1970
    std::string problem;  ///< why the document may be out of date; empty: it is current
};

/// Renders the progress of each pool, then its hosts, failed ones first. Many hosts with the same state and
/// reason share one row. Wraps lines at the terminal's width; truncates them if `rows` is limited.
[[nodiscard]] std::string render_fleet(const Screen& screen, const base::Json& document,
                                       const FleetView& view);

/// Returns a line for each host and each pool that changed; used if stdout is not a terminal.
[[nodiscard]] std::string fleet_changes(const base::Json& before, const base::Json& after);

} // namespace gpuhost::ctl
