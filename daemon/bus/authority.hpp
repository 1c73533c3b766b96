// SPDX-License-Identifier: Apache-2.0
// Decides which D-Bus callers may do what. Root may do everything. Other users may do what polkit allows, or
// nothing if polkit is not installed.
#pragma once

#include "daemon/base/rate_limit.hpp"
#include "daemon/bus/call.hpp"
#include "daemon/bus/callers.hpp"

#include <list>
#include <map>

namespace gpuhost::bus {

/// Actions of systemd/org.gpuhost1.policy. Read-only methods check no action.
inline constexpr const char* action_prepare = "org.gpuhost1.prepare"; ///< import, build, verify
inline constexpr const char* action_apply = "org.gpuhost1.apply";     ///< changes the running host
inline constexpr const char* action_remove = "org.gpuhost1.remove";   ///< deletes from gpuhost's stores
inline constexpr const char* action_manage = "org.gpuhost1.manage";   ///< cancel, reload

/// The user that gpuhost-fetch runs as. It may call Bundle.Receive, and nothing else without polkit.
inline constexpr const char* fetch_user = "gpuhost-fetch";
/// The user that gpuhost-cluster runs as. It may upgrade the driver without polkit, when the cluster grants
/// this host a turn.
inline constexpr const char* cluster_user = "gpuhost";

class Authority {
  public:
    Authority(sd_bus* bus, Callers callers) : bus_(bus), callers_(std::move(callers)) {}

    /// Handles a call whose sender is authorized. The Subject is that sender.
    using Allowed = std::function<base::Result<void>(sd_bus_message*, const core::Subject&)>;

    /// Calls `then` if polkit allows the sender to do `action`; this happens at once or after polkit's reply.
    /// Otherwise answers with AccessDenied and logs the refusal. Root and the user named `user` are
    /// authorized without polkit.
    int require(sd_bus_message* call, const char* action, Allowed then, const char* user = nullptr);
    /// Calls `then` only for root and the user named `user`; all others get AccessDenied. Does not ask
    /// polkit.
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
    /// Fails if the call must not be stored until polkit replies. Either its arguments are too large, or too
    /// many calls of its user, or of all users, are stored already.
    [[nodiscard]] base::Result<void> may_wait(sd_bus_message* call, uid_t uid) const;
    [[nodiscard]] base::Result<void> ask(Check& check, const char* action);
    static int on_reply(sd_bus_message* reply, void* userdata, sd_bus_error* error);
    void decide(Check& check, sd_bus_message* reply);
    [[nodiscard]] base::Result<void> refuse(const core::Subject& subject, const base::Error& why);

    sd_bus* bus_;
    Callers callers_;
    std::list<Check> checks_;
    /// Limits how many refusals are logged: one limit for each of the first 64 users, and one limit shared by
    /// all other users.
    std::map<uid_t, base::RateLimit> refusals_;
};

} // namespace gpuhost::bus
