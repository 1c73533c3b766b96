// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/bus_connection.hpp"

namespace gpuhost::host {

base::Result<BusPtr> open_system_bus(Event& event) {
    BusPtr bus;
    if (const int r = sd_bus_open_system_with_description(base::OutPtr(bus), "gpuhostd"); r < 0)
        return base::fail_errno("connecting to the system bus", -r);
    int r = sd_bus_set_exit_on_disconnect(bus.get(), 1);
    if (r >= 0)
        r = sd_bus_attach_event(bus.get(), event.get(), SD_EVENT_PRIORITY_NORMAL);
    if (r < 0)
        return base::fail_errno("attaching the system bus", -r);
    return bus;
}

base::Result<BusPtr> serve_client(Event& event, base::UniqueFd socket) {
    BusPtr bus;
    sd_id128_t id{};
    int r = sd_id128_randomize(&id);
    if (r >= 0)
        r = sd_bus_new(base::OutPtr(bus));
    if (r >= 0)
        r = sd_bus_set_fd(bus.get(), socket.get(), socket.get());
    if (r >= 0)
        (void)socket.release(); // the bus owns it now
    if (r >= 0)
        r = sd_bus_set_server(bus.get(), 1, id);
    if (r >= 0)
        r = sd_bus_start(bus.get());
    if (r >= 0)
        r = sd_bus_attach_event(bus.get(), event.get(), SD_EVENT_PRIORITY_NORMAL);
    if (r < 0)
        return base::fail_errno("serving a client", -r);
    return bus;
}

base::Error bus_error(std::string_view what, const sd_bus_error* error) {
    base::Error made = base::errno_error(what, sd_bus_error_get_errno(error));
    if (error->message)
        made.message = std::string(what) + ": " + error->message;
    return made;
}

} // namespace gpuhost::host
