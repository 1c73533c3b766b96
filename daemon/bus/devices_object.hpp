// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/object.hpp"
#include "daemon/bus/requests.hpp"

namespace gpuhost::bus {

/// The D-Bus object /org/gpuhost1/devices (interface org.gpuhost1.Devices). Its methods are requests to the
/// component "devices".
class DevicesObject {
  public:
    DevicesObject(host::Manager& manager, Authority& authority);

    static const Interface interface;

  private:
    static const sd_bus_vtable vtable[];

    int plan(sd_bus_message* call) { return requests_.plan(call); }
    int run(sd_bus_message* call) { return requests_.run(authority_, call); }

    Authority& authority_;
    Requests requests_;
};

} // namespace gpuhost::bus
