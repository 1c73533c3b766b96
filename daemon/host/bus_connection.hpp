// SPDX-License-Identifier: Apache-2.0
// The one connection to the system bus, and owning handles for sd-bus objects.
#pragma once

#include "daemon/host/event.hpp"

#include <systemd/sd-bus.h>

namespace gpuhost::host {

using BusPtr = base::CHandle<sd_bus, sd_bus_flush_close_unref>;
using Slot = base::CHandle<sd_bus_slot, sd_bus_slot_unref>;
using Message = base::CHandle<sd_bus_message, sd_bus_message_unref>;

/// Connects to the system bus and attaches the connection to the event loop. If the connection is lost, the
/// loop exits and systemd restarts the daemon. Workers continue meanwhile.
[[nodiscard]] base::Result<BusPtr> open_system_bus(Event& event);

/// Serves one client at the other end of `socket`, without a bus daemon. The socket's peer credentials
/// identify the client. sd_bus_is_open() of the returned bus returns 0 after the client has disconnected.
[[nodiscard]] base::Result<BusPtr> serve_client(Event& event, base::UniqueFd socket);

/// Converts the D-Bus error of a reply to a base::Error. `what` begins the message. The code is that of the
/// D-Bus error's errno value, for example Errc::Timeout after a timeout.
[[nodiscard]] base::Error bus_error(std::string_view what, const sd_bus_error* error);

} // namespace gpuhost::host
