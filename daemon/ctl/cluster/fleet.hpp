// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/session.hpp"

namespace gpuhost::ctl {

struct FleetOptions {
    bool follow = false; ///< show changes until the command is interrupted
    bool all = false;    ///< show a row for each host
};

/// Shows the fleet on stdout, as a table or as JSON. With `follow` on a terminal, repaints the table after
/// each change. Returns the exit status.
[[nodiscard]] base::Result<int> show_fleet(Session& session, const base::Root& root,
                                           const FleetOptions& options);

} // namespace gpuhost::ctl
