// SPDX-License-Identifier: Apache-2.0
// What stands between this host and its cluster: what gpuhost-cluster says that the cluster wants here, and what an
// administrator of this host asks of the cluster.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/core/cluster_wish.hpp"

#include <string>

namespace gpuhost::host {

class ClusterSide {
  public:
    /// `root` outlives it.
    explicit ClusterSide(const base::Root& root) : root_(root) {}

    void load();
    /// True if settings have changed with it.
    [[nodiscard]] base::Result<bool> keep(const core::ClusterWish& wish);
    /// gpuhost-cluster has gone: nobody would take what is asked for.
    void withdraw_driver() { wish_.driver.clear(); }

    /// That gpuhost-cluster upgrade this host to that driver, which must be what the cluster wants; empty: not any more.
    /// Remembered until the next boot.
    [[nodiscard]] base::Result<void> request_upgrade(const std::string& version);

    /// {"wish": {…}, "upgrade_requested": version or ""}
    [[nodiscard]] base::Json document() const;

  private:
    const base::Root& root_;
    core::ClusterWish wish_;
    std::string requested_;
};

} // namespace gpuhost::host
