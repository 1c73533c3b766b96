// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/object.hpp"
#include "daemon/bus/requests.hpp"

namespace gpuhost::bus {

/// The D-Bus object /org/gpuhost1/runtime (interface org.gpuhost1.Runtime). Its methods are requests to the
/// component "runtime".
class RuntimeObject {
  public:
    RuntimeObject(host::Manager& manager, Authority& authority)
        : authority_(authority), requests_(manager, "runtime") {}

    static const Interface interface;

  private:
    static const sd_bus_vtable vtable[];

    int plan(sd_bus_message* call);
    int configure(sd_bus_message* call);
    int restore(sd_bus_message* call);

    /// Starts the request `name` ("configure" or "restore") for the runtimes that the call names.
    [[nodiscard]] base::Result<void> start(sd_bus_message* call, const core::Subject& subject,
                                           const char* name);

    Authority& authority_;
    Requests requests_;
};

} // namespace gpuhost::bus
