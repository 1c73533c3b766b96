// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/session.hpp"

namespace gpuhost::ctl {

struct FleetOptions {
    bool follow = false; ///< until it is interrupted
    bool all = false;    ///< each host
};

/// The fleet on stdout: a table, painted anew with each change on a terminal; or JSON. The exit status.
[[nodiscard]] base::Result<int> show_fleet(Session& session, const base::Root& root,
                                           const FleetOptions& options);

} // namespace gpuhost::ctl
