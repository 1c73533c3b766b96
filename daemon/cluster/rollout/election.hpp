// SPDX-License-Identifier: Apache-2.0
// Elects the leader: the candidate that holds the Lease gpuhost-leader. The rules are those of client-go's
// tools/leaderelection. A candidate acquires the Lease after it has seen no change of the Lease for one
// duration of the Lease. Each candidate uses its own clock. The holder stops leading one duration after it
// sent its last successful renewal.
#pragma once

#include "daemon/cluster/kube/watch.hpp"
#include "daemon/cluster/rollout/grant.hpp"

#include <functional>
#include <optional>
#include <string>

namespace gpuhost::cluster {

class Election {
  public:
    using LogLine = std::function<void(const std::string& line)>;

    struct Callbacks {
        std::function<void(const LeaseFacts& lease)> on_started; ///< this host has acquired `lease`
        std::function<void(const std::string& why)> on_stopped;  ///< this host no longer leads
    };

    /// `candidate` is the name of this host's Node. `api` must outlive this object.
    Election(Api& api, std::string candidate, Callbacks callbacks, LogLine log_line);

    [[nodiscard]] std::optional<Time> due() const;
    void turn();
    void retry(); ///< retries at once; called when the credentials have changed

    /// Returns when the lease ends unless it is renewed; nullopt: this host does not lead.
    [[nodiscard]] std::optional<Time> leads_until() const { return leads_until_; }
    /// Returns the candidate that the Lease names; empty: none.
    [[nodiscard]] std::string holder() const { return lease_ ? lease_->holder : ""; }

  private:
    void on_lease(LeaseFacts&& lease);
    void lose_lease();
    [[nodiscard]] Time lease_ends() const;
    void write(bool acquires);
    void answered(ApiAnswer&& answer, Time asked, bool acquires);
    void stop(const std::string& why);

    Api& api_;
    std::string candidate_;
    Callbacks callbacks_;
    LogLine log_;
    std::optional<LeaseFacts> lease_;
    Time lease_seen_{0};            ///< when the holder or the renewal time last changed
    bool in_flight_ = false;        ///< a request that acquires or renews the Lease has no answer yet
    std::optional<Time> write_due_; ///< when to acquire or renew; unset until the Lease is known
    std::optional<Time> leads_until_;
    std::string last_error_;
    Backoff backoff_;
    Watch watch_; ///< declared last: its handlers use the other members
};

} // namespace gpuhost::cluster
