// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/object.hpp"
#include "daemon/bus/requests.hpp"

namespace gpuhost::bus {

/// The D-Bus object /org/gpuhost1/driver (interface org.gpuhost1.Driver). Its methods are requests to the
/// component "driver".
class DriverObject {
  public:
    DriverObject(host::Manager& manager, Authority& authority)
        : manager_(manager), authority_(authority), requests_(manager, "driver") {}

    static const Interface interface;

  private:
    static const sd_bus_vtable vtable[];
    [[nodiscard]] std::string loaded_version() const;
    [[nodiscard]] std::string selected_version() const;

    int list(sd_bus_message* call);
    int history(sd_bus_message* call);
    int plan(sd_bus_message* call);
    int import(sd_bus_message* call);
    int build(sd_bus_message* call);
    int verify(sd_bus_message* call);
    int remove(sd_bus_message* call);
    int clean(sd_bus_message* call);
    int select(sd_bus_message* call);
    int deselect(sd_bus_message* call);
    int swap(sd_bus_message* call);
    int rollback(sd_bus_message* call);

    host::Manager& manager_;
    Authority& authority_;
    Requests requests_;
};

} // namespace gpuhost::bus
