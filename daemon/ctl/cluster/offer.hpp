// SPDX-License-Identifier: Apache-2.0
// A policy may leave the start of a driver upgrade to administrators. gpuhost-cluster then offers the driver,
// and upgrades the host after apply requests it. plan shows the offer.
#pragma once

#include "daemon/client/client.hpp"

#include <string>

namespace gpuhost::ctl {

struct ClusterOffer {
    std::string driver; ///< version; empty: no offer
    std::string rest;   ///< --only for the parts that this host still applies itself; empty: none
};

/// Returns the cluster's offer. `only` is as given; without the driver in it there is no offer.
[[nodiscard]] base::Result<ClusterOffer> cluster_offer(client::Client& client, const client::Options& only);

} // namespace gpuhost::ctl
