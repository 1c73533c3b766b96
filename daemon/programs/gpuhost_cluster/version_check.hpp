// SPDX-License-Identifier: Apache-2.0
// Checks whether this host can upgrade to a version: pods can be moved if the policy moves them, and
// gpuhostd's plan and dry run of the swap have no problem besides pods that use the driver.
#pragma once

#include "daemon/client/async_client.hpp"
#include "daemon/cluster/policy/policy.hpp"
#include "daemon/cluster/upgrade/upgrade.hpp"
#include "daemon/programs/gpuhost_cluster/pod_access.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gpuhost {

class VersionCheck {
  public:
    /// `daemon` and `access` must outlive this object.
    VersionCheck(client::AsyncClient& daemon, PodAccess& access) : daemon_(daemon), access_(access) {}

    /// Begins a check, unless one of the same version runs or its result is valid. `policy` may be null.
    void begin(const std::string& version, const cluster::UpgradePolicy* policy);
    [[nodiscard]] cluster::Task result(const std::string& version) const;

    /// ID of the dry run whose description follow() needs; 0: none.
    [[nodiscard]] std::uint64_t dry_run() const { return dry_run_; }
    void follow(const base::Result<base::Json>& description);

    void retry();  ///< repeats a check that failed at the next begin(): what it depends on has changed
    void forget(); ///< gpuhostd is not available, and does not reply
    /// When begin() repeats a check.
    [[nodiscard]] std::optional<cluster::Time> due() const { return again_; }

  private:
    void plan();
    void run_dry();
    void end(cluster::Task result);
    void fail(const base::Error& why);

    client::AsyncClient& daemon_;
    PodAccess& access_;
    std::string version_;
    unsigned number_ = 0;       ///< number of the check; replies to earlier checks are ignored
    bool is_pending_ = false;   ///< a reply is pending
    std::uint64_t dry_run_ = 0; ///< ID of an operation; 0: none
    cluster::Task result_;
    std::optional<cluster::Time> again_;
};

} // namespace gpuhost
