// SPDX-License-Identifier: Apache-2.0
// Publishes the daemon on the bus: its objects, its signals, its name.
#pragma once

#include "daemon/bus/manager_object.hpp"
#include "daemon/bus/operation_object.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhost::bus {

class Server {
  public:
    /// Exports the server's own D-Bus objects and those in `objects`, and becomes the manager's listener. All
    /// arguments must outlive the server.
    [[nodiscard]] static base::Result<std::unique_ptr<Server>>
    create(host::Event& event, sd_bus* bus, host::Manager& manager, std::span<const BusObject> objects);
    /// Requests the bus name org.gpuhost1. Call this last: clients may send calls as soon as the name has an
    /// owner.
    [[nodiscard]] base::Result<void> request_name();

  private:
    Server(host::Event& event, sd_bus* bus, host::Manager& manager, Callers callers)
        : event_(event), bus_(bus), authority_(bus, std::move(callers)), manager_(manager, authority_),
          operations_(manager, authority_) {}

    [[nodiscard]] base::Result<void> add(const Interface& interface, void* object);
    [[nodiscard]] base::Result<void> add_operations();
    void listen(host::Manager& manager);
    void added(const host::Operation& operation);
    void changed(const host::Operation& operation);
    void ended(const host::Operation& operation);
    void removed(const host::Operation& operation);
    void emit_progress(std::uint64_t id);

    host::Event& event_;
    sd_bus* bus_;
    Authority authority_;
    ManagerObject manager_;
    OperationObjects operations_;
    std::vector<std::pair<Interface, std::shared_ptr<void>>> objects_;
    std::vector<host::Slot> slots_; ///< destroyed before the objects that they call
    host::Source progress_;         ///< timer of the next progress signal; null if none is pending
    std::string signalled_state_;   ///< state of the running operation in the last signal
};

} // namespace gpuhost::bus
