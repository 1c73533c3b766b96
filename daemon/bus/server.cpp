// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/server.hpp"

#include "daemon/bus/log_control.hpp"

namespace gpuhost::bus {

using base::Result;

namespace {

constexpr const char* bus_name = "org.gpuhost1";
constexpr std::chrono::milliseconds progress_interval{200}; // five a second is as much as a person sees

} // namespace

Result<std::unique_ptr<Server>> Server::create(host::Event& event, sd_bus* bus, host::Manager& manager) {
    std::unique_ptr<Server> server(new Server(event, bus, manager));
    GPUHOST_CHECK(server->add_objects());
    server->listen(manager);
    return server;
}

Result<void> Server::add_objects() {
    const auto add = [this](int r, host::Slot slot) -> Result<void> {
        if (r < 0)
            return base::fail_errno("adding to the bus", -r);
        slots_.push_back(std::move(slot));
        return {};
    };
    host::Slot slot;
    int r = sd_bus_add_object_vtable(bus_, base::OutPtr(slot), manager_path, manager_interface,
                                     ManagerObject::vtable, &manager_);
    GPUHOST_CHECK(add(r, std::move(slot)));
    r = sd_bus_add_object_vtable(bus_, base::OutPtr(slot), driver_path, driver_interface,
                                 DriverObject::vtable, &driver_);
    GPUHOST_CHECK(add(r, std::move(slot)));
    r = sd_bus_add_fallback_vtable(bus_, base::OutPtr(slot), operations_path, operation_interface,
                                   OperationObjects::vtable, OperationObjects::find, &operations_);
    GPUHOST_CHECK(add(r, std::move(slot)));
    r = sd_bus_add_node_enumerator(bus_, base::OutPtr(slot), operations_path, OperationObjects::enumerate,
                                   &operations_);
    GPUHOST_CHECK(add(r, std::move(slot)));
    r = sd_bus_add_object_manager(bus_, base::OutPtr(slot), manager_path);
    GPUHOST_CHECK(add(r, std::move(slot)));
    r = sd_bus_add_object_vtable(bus_, base::OutPtr(slot), log_control_path, log_control_interface,
                                 log_control_vtable(), nullptr);
    return add(r, std::move(slot));
}

Result<void> Server::request_name() {
    if (const int r = sd_bus_request_name(bus_, bus_name, 0); r < 0)
        return base::fail_errno("taking the bus name '" + std::string(bus_name) + "'", -r);
    return {};
}

void Server::listen(host::Manager& manager) {
    manager.listen({[this](const host::Operation& operation) { added(operation); },
                    [this](const host::Operation& operation) { changed(operation); },
                    [this](const host::Operation& operation) { ended(operation); }});
    manager.on_change([this] {
        (void)sd_bus_emit_properties_changed(bus_, manager_path, manager_interface, "State", "Ready",
                                             nullptr);
        (void)sd_bus_emit_properties_changed(bus_, driver_path, driver_interface, "LoadedVersion",
                                             "SelectedVersion", nullptr);
    });
}

void Server::added(const host::Operation& operation) {
    const std::string path = operation_path(operation.id);
    told_state_ = host::state(operation);
    (void)sd_bus_emit_object_added(bus_, path.c_str());
    (void)sd_bus_emit_signal(bus_, manager_path, manager_interface, "OperationAdded", "to", operation.id,
                             path.c_str());
}

/// A change of state is told at once, progress no more often than it can be seen.
void Server::changed(const host::Operation& operation) {
    const std::uint64_t id = operation.id;
    if (host::state(operation) != told_state_) {
        told_state_ = host::state(operation);
        emit_progress(id);
    } else if (!progress_) {
        if (auto later = event_.after(progress_interval, [this, id] { emit_progress(id); }))
            progress_ = *std::move(later);
    }
}

void Server::emit_progress(std::uint64_t id) {
    progress_.reset();
    (void)sd_bus_emit_properties_changed(bus_, operation_path(id).c_str(), operation_interface, "State",
                                         "Progress", "StatusText", "ErrorName", "ErrorMessage", "ErrorHint",
                                         nullptr);
}

void Server::ended(const host::Operation& operation) {
    const std::string path = operation_path(operation.id);
    emit_progress(operation.id);
    (void)sd_bus_emit_signal(bus_, manager_path, manager_interface, "OperationEnded", "tos", operation.id,
                             path.c_str(), std::string(host::state(operation)).c_str());
}

} // namespace gpuhost::bus
