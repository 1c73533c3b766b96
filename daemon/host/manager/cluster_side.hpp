// SPDX-License-Identifier: Apache-2.0
// State that this host and its cluster share: the configuration that gpuhost-cluster sends, and the requests
// of this host's administrator to the cluster.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/cluster_desired.hpp"

#include <string>

namespace gpuhost::host {

class ClusterSide {
  public:
    /// `root` must outlive this object.
    explicit ClusterSide(const base::Root& root) : root_(root) {}

    void load();
    /// Stores the cluster's configuration. Returns true if settings change with it.
    [[nodiscard]] base::Result<bool> keep(const core::ClusterDesired& desired);
    /// Clears the driver when gpuhost-cluster disconnects: no client would handle an upgrade request.
    void withdraw_driver() { desired_.driver.clear(); }

    /// Requests that gpuhost-cluster upgrade this host to `version`. Fails with Refused unless this is the
    /// driver that the cluster's configuration names. Empty withdraws the request. Remembered until the next
    /// boot.
    [[nodiscard]] base::Result<void> request_upgrade(const std::string& version);

    /// Returns {"desired": {…}, "upgrade_requested": version or ""}.
    [[nodiscard]] base::Json document() const;

  private:
    const base::Root& root_;
    core::ClusterDesired desired_;
    std::string requested_;
};

} // namespace gpuhost::host
