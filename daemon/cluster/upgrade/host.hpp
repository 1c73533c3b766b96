// SPDX-License-Identifier: Apache-2.0
// What an upgrade has done on its host, by whoever can: the daemon, and the kubelet's credentials. Nothing here waits.
#pragma once

#include "daemon/cluster/upgrade/upgrade.hpp"

#include <string>

namespace gpuhost::cluster {

/// What the host is to be at.
struct UpgradeWork {
    UpgradeAct act = UpgradeAct::None;
    std::string version; ///< to swap to, to check, or to go back to
    const UpgradePolicy* policy = nullptr;
    std::int64_t since = 0; ///< of the state that asks for it: what ended before does not count
};

class UpgradeHost {
  public:
    virtual ~UpgradeHost() = default;

    [[nodiscard]] virtual HostDriver driver() const = 0;
    [[nodiscard]] virtual Task check(const std::string& version) const = 0;
    /// Of swaps to `version` that began at `since` or later.
    [[nodiscard]] virtual Task swap(const std::string& version, std::int64_t since) const = 0;
    /// WaitForJobs, DeletePods, Drain or Validate.
    [[nodiscard]] virtual Task pods(UpgradeAct act) const = 0;

    /// Asked again and again, does it once. What it was at before, and is not to be at any more, ends.
    virtual void be_at(const UpgradeWork& work) = 0;
    /// driver().requested is not to be asked for any more.
    virtual void drop_request() = 0;
};

} // namespace gpuhost::cluster
