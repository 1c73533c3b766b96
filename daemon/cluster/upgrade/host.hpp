// SPDX-License-Identifier: Apache-2.0
// The interface through which an upgrade acts on its host: on gpuhostd, and on the host's pods. No function
// blocks.
#pragma once

#include "daemon/cluster/upgrade/upgrade.hpp"

#include <string>

namespace gpuhost::cluster {

/// The work that the host should do now.
struct UpgradeWork {
    UpgradeAct act = UpgradeAct::None;
    std::string version; ///< version of the swap, of the check before a swap, or of the rollback
    const UpgradePolicy* policy = nullptr;
    /// Start of the state that requires the work, in seconds since 1970. Earlier results do not count.
    std::int64_t since = 0;
};

class UpgradeHost {
  public:
    virtual ~UpgradeHost() = default;

    [[nodiscard]] virtual HostDriver driver() const = 0;
    [[nodiscard]] virtual Task check(const std::string& version) const = 0;
    /// Returns the state of the swaps to `version` that began at `since` or later.
    [[nodiscard]] virtual Task swap(const std::string& version, std::int64_t since) const = 0;
    /// Returns the state of a task with pods: WaitForJobs, DeletePods, Drain or Validate.
    [[nodiscard]] virtual Task pods(UpgradeAct act) const = 0;

    /// Starts `work`. Repeated calls with the same work start it once. Stops earlier work that is not in
    /// `work`.
    virtual void be_at(const UpgradeWork& work) = 0;
    /// Clears driver().requested: the Node has recorded the request of the host's administrator, or the
    /// request is void.
    virtual void drop_request() = 0;
};

} // namespace gpuhost::cluster
