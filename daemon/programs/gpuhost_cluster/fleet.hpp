// SPDX-License-Identifier: Apache-2.0
// gpuhost-cluster --fleet: runs for gpuhostctl, which must not parse data of an API server as root.
#pragma once

#include "daemon/cluster/rollout/fleet_watch.hpp"

namespace gpuhost {

/// Prints a document of the fleet to stdout, as one line. With `follow`, prints another one when it changes,
/// at most one a second, and {"error": …} while the last one may be out of date. Ends when the reader closes
/// the pipe.
[[nodiscard]] base::Result<void> show_fleet(const base::Root& root, cluster::Api& api, bool follow);

} // namespace gpuhost
