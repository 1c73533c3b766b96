// SPDX-License-Identifier: Apache-2.0
// State that gpuhostd shares with gpuhost-cluster: the cluster's desired state, which gpuhost-cluster
// publishes, and the administrator's upgrade requests, which gpuhost-cluster reads.
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
    /// Stores the desired state. Returns true if the settings of [Toolkit] change, so that the caller must
    /// load settings again.
    [[nodiscard]] base::Result<bool> keep(const core::ClusterDesired& desired);
    /// Clears the driver versions. Called when gpuhost-cluster disconnects, because an upgrade request has no
    /// effect without gpuhost-cluster.
    void withdraw_driver() {
        desired_.driver.clear();
        desired_.scheduled.clear();
    }

    /// Records that an administrator requests an upgrade to driver `version`; gpuhost-cluster reads the
    /// request. Fails with Refused unless the cluster's desired state names this version. An empty version
    /// withdraws the request. The request is kept in /run, so it lasts until the next boot.
    [[nodiscard]] base::Result<void> request_upgrade(const std::string& version);

    /// Returns {"desired": {…}, "upgrade_requested": version or ""}, which Manager::describe() includes.
    [[nodiscard]] base::Json document() const;

  private:
    const base::Root& root_;
    core::ClusterDesired desired_;
    std::string requested_;
};

} // namespace gpuhost::host
