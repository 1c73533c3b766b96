// SPDX-License-Identifier: Apache-2.0
// Who may do what: root everything, others what polkit says, nobody else anything where polkit is not
// installed.
#pragma once

#include "daemon/base/rate_limit.hpp"
#include "daemon/bus/call.hpp"
#include "daemon/bus/callers.hpp"

#include <list>
#include <map>

namespace gpuhost::bus {

/// Actions of systemd/org.gpuhost1.policy. Inspecting needs none.
inline constexpr const char* action_prepare = "org.gpuhost1.prepare"; ///< import, build, verify
inline constexpr const char* action_apply = "org.gpuhost1.apply";     ///< what changes the running host
inline constexpr const char* action_remove = "org.gpuhost1.remove";   ///< what deletes from its stores
inline constexpr const char* action_manage = "org.gpuhost1.manage";   ///< cancel, reload

/// Runs gpuhost-fetch, which has no other right.
inline constexpr const char* fetch_user = "gpuhost-fetch";
/// Runs gpuhost-cluster, which swaps the driver when it is this host's turn.
inline constexpr const char* cluster_user = "gpuhost";

class Authority {
  public:
    Authority(sd_bus* bus, Callers callers) : bus_(bus), callers_(std::move(callers)) {}

    /// What to do for whom.
    using Allowed = std::function<base::Result<void>(sd_bus_message*, const core::Subject&)>;

    /// Answers the call with `then` once its sender is known to be allowed, else with AccessDenied, which is logged. The
    /// user of that name always is.
    int require(sd_bus_message* call, const char* action, Allowed then, const char* user = nullptr);
    /// The same for root and the user of that name, and nobody else, whatever polkit says.
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
    /// Fails if the call must not be kept: too large, or too many of its user or of all wait already.
    [[nodiscard]] base::Result<void> may_wait(sd_bus_message* call, uid_t uid) const;
    [[nodiscard]] base::Result<void> ask(Check& check, const char* action);
    static int on_reply(sd_bus_message* reply, void* userdata, sd_bus_error* error);
    void decide(Check& check, sd_bus_message* reply);
    [[nodiscard]] base::Result<void> refuse(const core::Subject& subject, const base::Error& why);

    sd_bus* bus_;
    Callers callers_;
    std::list<Check> checks_;
    std::map<uid_t, base::RateLimit>
        refusals_; ///< lines of the log; of the first users one each, of others one together
};

} // namespace gpuhost::bus
