// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/core/record.hpp"
#include "daemon/host/bus_connection.hpp"

namespace gpuhost::bus {

/// Identifies callers. Asks the bus on a connection of its own: sd-bus keeps every message that arrives on a connection
/// while it waits for an answer there, and anybody may send calls to the daemon's.
class Callers {
  public:
    /// For calls on `bus`, which is the system bus or a direct connection to one client.
    [[nodiscard]] static base::Result<Callers> create(sd_bus* bus);

    /// Returns the sender from the bus's data, not from the message. Only the uid is good for a decision: the rest describes
    /// the process that has that pid now.
    [[nodiscard]] base::Result<core::Subject> subject_of(sd_bus_message* call) const;

  private:
    host::BusPtr lookup_; ///< null for a direct connection
};

} // namespace gpuhost::bus
