// SPDX-License-Identifier: Apache-2.0
// The one connection to the system bus, and owners for what sd-bus hands out.
#pragma once

#include "daemon/host/event.hpp"

#include <systemd/sd-bus.h>

namespace gpuhost::host {

using BusPtr = base::CHandle<sd_bus, sd_bus_flush_close_unref>;
using Slot = base::CHandle<sd_bus_slot, sd_bus_slot_unref>;
using Message = base::CHandle<sd_bus_message, sd_bus_message_unref>;

/// Connects, attaches to the loop and makes it end when the connection does: systemd starts the daemon anew,
/// and workers go on meanwhile.
[[nodiscard]] base::Result<BusPtr> open_system_bus(Event& event);

/// With one client, at the other end of a socket, whose credentials are its. Once that has left, sd_bus_is_open() says so.
[[nodiscard]] base::Result<BusPtr> serve_client(Event& event, base::UniqueFd socket);

/// A reply's error as ours; "timed out" and "disconnected" keep their meaning.
[[nodiscard]] base::Error bus_error(std::string_view what, const sd_bus_error* error);

} // namespace gpuhost::host
