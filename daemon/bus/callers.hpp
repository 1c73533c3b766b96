// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/core/record.hpp"
#include "daemon/host/bus_connection.hpp"

namespace gpuhost::bus {

/// Identifies callers. Queries the bus on a connection of its own. While sd-bus waits for an answer it queues
/// all messages that arrive on that connection, and any user may send calls to the daemon's.
class Callers {
  public:
    /// Creates one for calls on `bus`, which is the system bus or a direct connection to one client.
    [[nodiscard]] static base::Result<Callers> create(sd_bus* bus);

    /// Returns the sender from the bus's data, not from the message. Decisions must use the uid only: the
    /// rest describes the process that has that pid now.
    [[nodiscard]] base::Result<core::Subject> subject_of(sd_bus_message* call) const;

  private:
    host::BusPtr lookup_; ///< null for a direct connection
};

} // namespace gpuhost::bus
