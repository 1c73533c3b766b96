// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/bus/authority.hpp"
#include "daemon/bus/object.hpp"

namespace gpuhost::bus {

/// The D-Bus object /org/gpuhost1 (interface org.gpuhost1.Manager), which covers the whole host.
class ManagerObject {
  public:
    ManagerObject(host::Manager& manager, Authority& authority) : manager_(manager), authority_(authority) {}

    static const Interface interface;

  private:
    static const sd_bus_vtable vtable[];
    [[nodiscard]] std::string version() const;
    [[nodiscard]] std::string kernel() const { return manager_.kernel(); }
    [[nodiscard]] std::string_view state() const { return manager_.state(); }
    [[nodiscard]] bool ready() const { return manager_.ready(); }

    int describe(sd_bus_message* call);
    int plan(sd_bus_message* call);
    int apply(sd_bus_message* call);
    int list_operations(sd_bus_message* call);
    int get_operation(sd_bus_message* call);
    int reload(sd_bus_message* call);
    int reboot(sd_bus_message* call);
    int get_kubelet_credentials(sd_bus_message* call);
    int set_desired_state(sd_bus_message* call);
    int request_upgrade(sd_bus_message* call);
    [[nodiscard]] base::Result<void> follow_publisher(sd_bus_message* call, bool wants_driver);
    static int on_publisher_gone(sd_bus_track* track, void* userdata);
    static int on_reboot(sd_bus_message* reply, void* userdata, sd_bus_error* error);

    host::Manager& manager_;
    Authority& authority_;
    /// Tracks the connection of gpuhost-cluster while its desired state names a driver, see
    /// follow_publisher().
    base::CHandle<sd_bus_track, sd_bus_track_unref> publisher_;
};

} // namespace gpuhost::bus
