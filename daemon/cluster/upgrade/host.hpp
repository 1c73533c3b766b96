// SPDX-License-Identifier: Apache-2.0
// The interface through which an upgrade acts on its host: on the daemon, and on pods with the kubelet's
// credentials. No call blocks.
#pragma once

#include "daemon/cluster/upgrade/upgrade.hpp"

#include <string>

namespace gpuhost::cluster {

/// The task that the host should work on.
struct UpgradeWork {
    UpgradeAct act = UpgradeAct::None;
    std::string version; ///< the version to swap to, to check, or to roll back to
    const UpgradePolicy* policy = nullptr;
    /// Start of the state that asks for the task, in seconds since 1970. Tasks that ended before do not
    /// count.
    std::int64_t since = 0;
};

class UpgradeHost {
  public:
    virtual ~UpgradeHost() = default;

    [[nodiscard]] virtual HostDriver driver() const = 0;
    [[nodiscard]] virtual Task check(const std::string& version) const = 0;
    /// Returns the state of swaps to `version` that began at `since` or later.
    [[nodiscard]] virtual Task swap(const std::string& version, std::int64_t since) const = 0;
    /// Returns the state of `act`: WaitForJobs, DeletePods, Drain or Validate.
    [[nodiscard]] virtual Task pods(UpgradeAct act) const = 0;

    /// Starts `work`. Repeated calls with the same work start it once. Ends any earlier work that is no
    /// longer wanted.
    virtual void be_at(const UpgradeWork& work) = 0;
    /// Clears driver().requested.
    virtual void drop_request() = 0;
};

} // namespace gpuhost::cluster
