// SPDX-License-Identifier: Apache-2.0
// gpuhost-cluster --fleet: for gpuhostctl, which parses nothing of an API server's as root.
#pragma once

#include "daemon/cluster/rollout/fleet_watch.hpp"

namespace gpuhost {

/// Prints a document of the fleet on stdout, as one line. With `follow` another one whenever it says something else, at most
/// one a second, and {"error": …} while what it printed last may be out of date; until nobody reads any more.
[[nodiscard]] base::Result<void> show_fleet(const base::Root& root, cluster::Api& api, bool follow);

} // namespace gpuhost
