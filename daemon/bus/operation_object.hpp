// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/object.hpp"

namespace gpuhost::bus {

/// The D-Bus objects /org/gpuhost1/operation/_N of all operations (interface org.gpuhost1.Operation). This
/// one C++ object handles them all: it finds the operation by the object path of the call.
class OperationObjects {
  public:
    OperationObjects(host::Manager& manager, Authority& authority)
        : manager_(manager), authority_(authority) {}

    static const Interface interface;
    static int find(sd_bus* bus, const char* path, const char* interface, void* userdata, void** found,
                    sd_bus_error* error);
    static int enumerate(sd_bus* bus, const char* prefix, void* userdata, char*** nodes, sd_bus_error* error);

  private:
    static const sd_bus_vtable vtable[];
    static int get(sd_bus* bus, const char* path, const char* interface, const char* property,
                   sd_bus_message* reply, void* userdata, sd_bus_error* error);
    int describe(sd_bus_message* call);
    int cancel(sd_bus_message* call);
    /// Returns the running or ended operation with this object path; null if not found.
    [[nodiscard]] const host::Operation* at(const char* path) const;

    host::Manager& manager_;
    Authority& authority_;
};

} // namespace gpuhost::bus
