// SPDX-License-Identifier: Apache-2.0
// The state that this host and its cluster share: what gpuhost-cluster reports that the cluster wants here,
// and what an administrator of this host requests from the cluster.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/cluster_wish.hpp"

#include <string>

namespace gpuhost::host {

class ClusterSide {
  public:
    /// `root` must outlive this object.
    explicit ClusterSide(const base::Root& root) : root_(root) {}

    void load();
    /// Stores what the cluster wants. Returns true if settings change with it.
    [[nodiscard]] base::Result<bool> keep(const core::ClusterWish& wish);
    /// Clears the driver when gpuhost-cluster disconnects: no client would handle an upgrade request.
    void withdraw_driver() { wish_.driver.clear(); }

    /// Requests that gpuhost-cluster upgrade this host to `version`, which must be the driver that the
    /// cluster wants, else fails with Refused. Empty withdraws the request. Remembered until the next boot.
    [[nodiscard]] base::Result<void> request_upgrade(const std::string& version);

    /// Returns {"wish": {…}, "upgrade_requested": version or ""}.
    [[nodiscard]] base::Json document() const;

  private:
    const base::Root& root_;
    core::ClusterWish wish_;
    std::string requested_;
};

} // namespace gpuhost::host
