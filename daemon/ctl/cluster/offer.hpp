// SPDX-License-Identifier: Apache-2.0
// A policy may leave the start of a driver upgrade to administrators. gpuhost-cluster then offers the
// version: 'apply --dry-run' shows it, and 'apply' requests the upgrade, which gpuhost-cluster performs.
#pragma once

#include "daemon/client/client.hpp"

#include <string>

namespace gpuhost::ctl {

class Session;

/// Returns how gpuhost-cluster upgrades this host: "upgrade" in its status, with the name of the Node as
/// "node". Null if it does not run.
[[nodiscard]] base::Json upgrade_by_cluster();

struct ClusterOffer {
    std::string driver;    ///< version; empty: no offer
    std::string scheduled; ///< version that gpuhost-cluster installs without a request; empty: none
    /// Value of --only for all other components, which gpuhostd applies itself. Empty: none, or neither
    /// driver is set.
    std::string rest;
};

/// Returns the cluster's offer. `only` is the option --only. If that does not name "driver", the result is
/// empty.
[[nodiscard]] base::Result<ClusterOffer> cluster_offer(client::Client& client, const client::Options& only);

/// Prints that gpuhost-cluster performs the upgrade to this version.
void note_turn(Session& session, const std::string& version);
/// Requests the upgrade to the offered version from gpuhost-cluster, and prints what follows.
[[nodiscard]] base::Result<void> request_upgrade(Session& session, const std::string& version);

} // namespace gpuhost::ctl
