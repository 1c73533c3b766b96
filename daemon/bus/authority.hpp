// SPDX-License-Identifier: Apache-2.0
// Authorizes callers. Root may do everything. Others may do what polkit allows, and nothing if polkit is not
// installed.
#pragma once

#include "daemon/base/rate_limit.hpp"
#include "daemon/bus/call.hpp"
#include "daemon/bus/callers.hpp"

#include <list>
#include <map>

namespace gpuhost::bus {

/// Actions of systemd/org.gpuhost1.policy. Read-only methods need none.
inline constexpr const char* action_prepare = "org.gpuhost1.prepare"; ///< import, build, verify
inline constexpr const char* action_apply = "org.gpuhost1.apply";     ///< changes the running host
inline constexpr const char* action_remove = "org.gpuhost1.remove";   ///< deletes from gpuhost's stores
inline constexpr const char* action_manage = "org.gpuhost1.manage";   ///< cancel, reload

/// Runs gpuhost-fetch, which has no other rights.
inline constexpr const char* fetch_user = "gpuhost-fetch";
/// Runs gpuhost-cluster, which changes the driver when it is this host's turn.
inline constexpr const char* cluster_user = "gpuhost";

class Authority {
  public:
    Authority(sd_bus* bus, Callers callers) : bus_(bus), callers_(std::move(callers)) {}

    /// Handles a call whose sender is authorized.
    using Allowed = std::function<base::Result<void>(sd_bus_message*, const core::Subject&)>;

    /// Answers the call with `then` if its sender is authorized, else with AccessDenied, which is logged. The
    /// user named `user` is always authorized.
    int require(sd_bus_message* call, const char* action, Allowed then, const char* user = nullptr);
    /// Authorizes root and the user named `user` only, without asking polkit.
    int require_user(sd_bus_message* call, const char* user, const Allowed& then);

    [[nodiscard]] const Callers& callers() const { return callers_; }

  private:
    struct Check {
        Authority* authority;
        host::Message call;
        core::Subject subject;
        Allowed then;
        host::Slot slot;
        std::list<Check>::iterator self;
    };
    /// Fails if the call must not be kept: it is too large, or too many calls of its user or in total wait
    /// already.
    [[nodiscard]] base::Result<void> may_wait(sd_bus_message* call, uid_t uid) const;
    [[nodiscard]] base::Result<void> ask(Check& check, const char* action);
    static int on_reply(sd_bus_message* reply, void* userdata, sd_bus_error* error);
    void decide(Check& check, sd_bus_message* reply);
    [[nodiscard]] base::Result<void> refuse(const core::Subject& subject, const base::Error& why);

    sd_bus* bus_;
    Callers callers_;
    std::list<Check> checks_;
    /// Limits the log of refusals: one limit for each of the first users, and one that all others share.
    std::map<uid_t, base::RateLimit> refusals_;
};

} // namespace gpuhost::bus
