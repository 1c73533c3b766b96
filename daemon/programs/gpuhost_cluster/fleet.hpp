// SPDX-License-Identifier: Apache-2.0
// gpuhost-cluster --fleet: gpuhostctl runs this, because gpuhostctl must not parse an API server's data as
// root.
#pragma once

#include "daemon/cluster/rollout/fleet_watch.hpp"

namespace gpuhost {

/// Prints the document of the fleet as one line on stdout. With `follow`, prints it again when it changes, at
/// most once a second. Also prints {"error": …} while the last document may be out of date. Ends when the
/// reader closes the pipe. `root` is that of PolicySource, and may be null.
[[nodiscard]] base::Result<void> show_fleet(const base::Root* root, cluster::Api& api, bool follow);

} // namespace gpuhost
