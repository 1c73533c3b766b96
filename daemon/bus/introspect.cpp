// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/introspect.hpp"

#include "daemon/bus/log_control.hpp"
#include "daemon/bus/manager_object.hpp"
#include "daemon/bus/operation_object.hpp"

#include <array>
#include <vector>

#include <sys/socket.h>

namespace gpuhost::bus {

namespace {

using base::fail_errno;
using base::Result;

/// Exports all interfaces without their C++ objects: introspection reads only the vtables.
int export_all(sd_bus* bus, std::span<const BusObject> objects) {
    std::vector<const Interface*> interfaces{&ManagerObject::interface, &OperationObjects::interface,
                                             &log_control()};
    for (const BusObject& one : objects)
        interfaces.push_back(&one.interface);
    int r = 0;
    for (const Interface* one : interfaces)
        if (r >= 0)
            r = sd_bus_add_object_vtable(bus, nullptr, one->path, one->name, one->vtable, nullptr);
    return r;
}

Result<host::BusPtr> attach(host::Event& event, int fd, bool server) {
    host::BusPtr bus;
    int r = sd_bus_new(base::OutPtr(bus));
    if (r >= 0)
        r = sd_bus_set_fd(bus.get(), fd, fd);
    sd_id128_t id{};
    if (r >= 0 && server)
        r = sd_id128_randomize(&id);
    if (r >= 0 && server)
        r = sd_bus_set_server(bus.get(), 1, id);
    if (r >= 0)
        r = sd_bus_set_anonymous(bus.get(), 1);
    if (r >= 0)
        r = sd_bus_start(bus.get());
    if (r >= 0)
        r = sd_bus_attach_event(bus.get(), event.get(), SD_EVENT_PRIORITY_NORMAL);
    if (r < 0)
        return fail_errno("making a private bus", -r);
    return bus;
}

struct Reply {
    host::Event& event;
    Result<std::string> xml;
};

int on_reply(sd_bus_message* message, void* userdata, sd_bus_error*) {
    return host::guard("introspection", [=] {
        auto& reply = *static_cast<Reply*>(userdata);
        const char* xml = nullptr;
        if (sd_bus_message_is_method_error(message, nullptr))
            reply.xml = base::fail(host::bus_error("introspecting", sd_bus_message_get_error(message)));
        else if (sd_bus_message_read(message, "s", &xml) >= 0)
            reply.xml = std::string(xml);
        reply.event.exit(0);
        return 0;
    });
}

} // namespace

Result<std::string> introspect(const std::string& path, std::span<const BusObject> objects) {
    GPUHOST_TRY(event, host::Event::create());
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) < 0)
        return fail_errno("making a private bus", errno);
    GPUHOST_TRY(server, attach(event, pair[0], true));
    GPUHOST_TRY(client, attach(event, pair[1], false));
    int r = export_all(server.get(), objects);
    Reply reply{event, base::fail(base::Errc::Failed, "no answer")};
    if (r >= 0)
        r = sd_bus_call_method_async(client.get(), nullptr, nullptr, path.c_str(),
                                     "org.freedesktop.DBus.Introspectable", "Introspect", on_reply, &reply,
                                     nullptr);
    if (r < 0)
        return fail_errno("introspecting '" + path + "'", -r);
    GPUHOST_CHECK(event.run());
    return reply.xml;
}

} // namespace gpuhost::bus
