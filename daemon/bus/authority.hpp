// SPDX-License-Identifier: Apache-2.0
// Who may do what: root everything, others what polkit says, nobody else anything where polkit is not
// installed.
#pragma once

#include "daemon/bus/call.hpp"

#include <list>

namespace gpuhost::bus {

/// Actions of systemd/org.gpuhost1.policy. Inspecting needs none.
inline constexpr const char* action_prepare = "org.gpuhost1.prepare"; ///< import, build, verify
inline constexpr const char* action_apply = "org.gpuhost1.apply";     ///< what changes the running host

/// Runs gpuhost-fetch, which has no other right.
inline constexpr const char* fetch_user = "gpuhost-fetch";
/// Runs gpuhost-cluster, which swaps the driver when it is this host's turn.
inline constexpr const char* cluster_user = "gpuhost";

class Authority {
  public:
    explicit Authority(sd_bus* bus) : bus_(bus) {}

    /// Answers the call with `then` once its sender is known to be allowed, else with AccessDenied. The user of that
    /// name always is.
    int require(sd_bus_message* call, const char* action, Answer then, const char* user = nullptr);
    /// The same for root and the user of that name, and nobody else, whatever polkit says.
    int require_user(sd_bus_message* call, const char* user, const Answer& then);

  private:
    struct Check {
        Authority* authority;
        host::Message call;
        Answer then;
        host::Slot slot;
        std::list<Check>::iterator self;
    };
    [[nodiscard]] base::Result<void> ask(Check& check, const char* action);
    static int on_reply(sd_bus_message* reply, void* userdata, sd_bus_error* error);
    void decide(Check& check, sd_bus_message* reply);

    sd_bus* bus_;
    std::list<Check> checks_; ///< at most as many as the bus lets callers have calls open
};

} // namespace gpuhost::bus
