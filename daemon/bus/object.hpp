// SPDX-License-Identifier: Apache-2.0
// Defines an object on the bus, and how a subsystem registers one.
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

/// Describes the D-Bus object of a subsystem: its interface, and the function that creates it. The server
/// owns the object. Its methods are requests to the subsystem's component.
struct BusObject {
    Interface interface;
    std::shared_ptr<void> (*make)(host::Manager& manager, Authority& authority);
};

/// Describes the object of the class `Object`, which must have a `static const Interface interface`. The
/// vtable's functions must be members of that class.
template <class Object>
[[nodiscard]] BusObject bus_object() {
    return {Object::interface, [](host::Manager& manager, Authority& authority) -> std::shared_ptr<void> {
                return std::make_shared<Object>(manager, authority);
            }};
}

/// Emits PropertiesChanged for all properties of the vtable with the flag
/// SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE. `path` is interface.path, or a path below it if several objects share
/// the interface.
void emit_changed(sd_bus* bus, const Interface& interface, const char* path);

} // namespace gpuhost::bus
