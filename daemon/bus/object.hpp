// SPDX-License-Identifier: Apache-2.0
// An object on the bus, and how a room brings one.
#pragma once

#include "daemon/host/manager/manager.hpp"

#include <memory>

#include <systemd/sd-bus.h>

namespace gpuhost::bus {

class Authority;

struct Interface {
    const char* path;
    const char* name;
    const sd_bus_vtable* vtable;
};

/// A room's object. It takes requests to the room's component, and lives as long as the server.
struct RoomObject {
    Interface interface;
    std::shared_ptr<void> (*make)(host::Manager& manager, Authority& authority);
};

/// Of a class with a `static const Interface interface` whose vtable's functions are its own.
template <class Object>
[[nodiscard]] RoomObject room_object() {
    return {Object::interface, [](host::Manager& manager, Authority& authority) -> std::shared_ptr<void> {
                return std::make_shared<Object>(manager, authority);
            }};
}

/// Tells of all properties that the vtable marks SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE. `path` is the interface's
/// own, or below it for one that many objects have.
void emit_changed(sd_bus* bus, const Interface& interface, const char* path);

} // namespace gpuhost::bus
