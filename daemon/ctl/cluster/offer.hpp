// SPDX-License-Identifier: Apache-2.0
// Where a cluster's policy leaves it to administrators when a host's driver is upgraded, apply and plan go its way:
// gpuhost-cluster offers the driver, and upgrades the host when it is asked for it.
#pragma once

#include "daemon/client/client.hpp"

#include <string>

namespace gpuhost::ctl {

struct ClusterOffer {
    std::string driver; ///< version; empty: there is none
    std::string rest;   ///< --only for what is left to do here; empty: nothing
};

/// `only` as it was given: what has no driver in it has no offer either.
[[nodiscard]] base::Result<ClusterOffer> cluster_offer(Client& client, const Options& only);

} // namespace gpuhost::ctl
