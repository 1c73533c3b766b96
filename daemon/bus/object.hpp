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

/// A subsystem's object. It accepts requests to the subsystem's component, and lives as long as the server.
struct BusObject {
    Interface interface;
    std::shared_ptr<void> (*make)(host::Manager& manager, Authority& authority);
};

/// Creates one for a class with a `static const Interface interface`. The vtable's functions must be members
/// of the class.
template <class Object>
[[nodiscard]] BusObject bus_object() {
    return {Object::interface, [](host::Manager& manager, Authority& authority) -> std::shared_ptr<void> {
                return std::make_shared<Object>(manager, authority);
            }};
}

/// Signals a change of all properties that the vtable marks SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE. `path` is
/// the interface's own, or a path below it if several objects share the interface.
void emit_changed(sd_bus* bus, const Interface& interface, const char* path);

} // namespace gpuhost::bus
