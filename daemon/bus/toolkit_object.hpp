// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/object.hpp"
#include "daemon/bus/requests.hpp"

namespace gpuhost::bus {

/// The D-Bus object /org/gpuhost1/toolkit (interface org.gpuhost1.Toolkit). Its methods are requests to the
/// component "toolkit".
class ToolkitObject {
  public:
    ToolkitObject(host::Manager& manager, Authority& authority);

    static const Interface interface;

  private:
    static const sd_bus_vtable vtable[];
    [[nodiscard]] std::string selected_version() const;

    int list(sd_bus_message* call);
    int plan(sd_bus_message* call) { return requests_.plan(call); }
    int import(sd_bus_message* call);
    int run(sd_bus_message* call) { return requests_.run(authority_, call); }

    host::Manager& manager_;
    Authority& authority_;
    Requests requests_;
};

} // namespace gpuhost::bus
