// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/object.hpp"

#include <vector>

namespace gpuhost::bus {

void emit_changed(sd_bus* bus, const Interface& interface, const char* path) {
    std::vector<char*> names;
    for (const sd_bus_vtable* entry = interface.vtable; entry->type != _SD_BUS_VTABLE_END; ++entry)
        if ((entry->type == _SD_BUS_VTABLE_PROPERTY || entry->type == _SD_BUS_VTABLE_WRITABLE_PROPERTY) &&
            (entry->flags & SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE) != 0)
            // sd-bus only reads the names, but its parameter is not const
            names.push_back(const_cast<char*>(entry->x.property.member));
    names.push_back(nullptr);
    (void)sd_bus_emit_properties_changed_strv(bus, path, interface.name, names.data());
}

} // namespace gpuhost::bus
