// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/core/record.hpp"
#include "daemon/host/bus_connection.hpp"

namespace gpuhost::bus {

/// Identifies callers: asks the bus daemon about them, on a bus connection of its own. A blocking query makes
/// sd-bus queue all messages that arrive meanwhile. On the daemon's main connection, any user could fill that
/// queue.
class Callers {
  public:
    /// Creates a Callers for calls on `bus`, which is the system bus or a direct connection to one client.
    [[nodiscard]] static base::Result<Callers> create(sd_bus* bus);

    /// Returns the sender of `call` as the bus daemon reports it, not as the message describes it. Decisions
    /// must use the uid only: the other fields describe the process that has the sender's pid now.
    [[nodiscard]] base::Result<core::Subject> subject_of(sd_bus_message* call) const;

  private:
    host::BusPtr lookup_; ///< connection for the queries; null if the client is connected directly
};

} // namespace gpuhost::bus
