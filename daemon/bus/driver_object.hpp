// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/object.hpp"
#include "daemon/bus/requests.hpp"

#include <vector>

namespace gpuhost::bus {

/// The D-Bus object /org/gpuhost1/driver (interface org.gpuhost1.Driver). Its methods are requests to the
/// component "driver".
class DriverObject {
  public:
    DriverObject(host::Manager& manager, Authority& authority);

    static const Interface interface;

  private:
    static const sd_bus_vtable vtable[];
    [[nodiscard]] std::string loaded_version() const;
    [[nodiscard]] std::string selected_version() const;

    int list(sd_bus_message* call);
    int history(sd_bus_message* call);
    int holders(sd_bus_message* call);
    void search();
    void found(const core::JobResult& result);
    int plan(sd_bus_message* call) { return requests_.plan(call); }
    int import(sd_bus_message* call);
    int run(sd_bus_message* call) { return requests_.run(authority_, call); }

    host::Manager& manager_;
    Authority& authority_;
    Requests requests_;
    std::vector<host::Message> searching_; ///< calls of Holders that the present search answers
    std::vector<host::Message> waiting_;   ///< calls of Holders that arrived since the present search began
};

} // namespace gpuhost::bus
