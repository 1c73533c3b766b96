// SPDX-License-Identifier: Apache-2.0
#include "daemon/bus/server.hpp"

#include "daemon/bus/log_control.hpp"

#include <array>
#include <iterator>

namespace gpuhost::bus {

using base::Result;

namespace {

constexpr const char* bus_name = "org.gpuhost1";
// more than five signals a second are of no use to a person
constexpr std::chrono::milliseconds progress_interval{200};

} // namespace

Result<std::unique_ptr<Server>> Server::create(host::Event& event, sd_bus* bus, host::Manager& manager,
                                               std::span<const BusObject> objects) {
    GPUHOST_TRY(callers, Callers::create(bus));
    std::unique_ptr<Server> server(new Server(event, bus, manager, std::move(callers)));
    GPUHOST_CHECK(server->add(ManagerObject::interface, &server->manager_));
    for (const BusObject& one : objects) {
        const auto object = one.make(manager, server->authority_);
        server->objects_.emplace_back(one.interface, object);
        GPUHOST_CHECK(server->add(one.interface, object.get()));
    }
    GPUHOST_CHECK(server->add_operations());
    GPUHOST_CHECK(server->add(log_control(), nullptr));
    server->listen(manager);
    return server;
}

Result<void> Server::add(const Interface& interface, void* object) {
    host::Slot slot;
    const int r = sd_bus_add_object_vtable(bus_, base::OutPtr(slot), interface.path, interface.name,
                                           interface.vtable, object);
    slots_.push_back(std::move(slot));
    return r < 0 ? base::fail_errno(interface.path, -r) : Result<void>();
}

Result<void> Server::add_operations() {
    const Interface& interface = OperationObjects::interface;
    std::array<host::Slot, 3> slots;
    int r = sd_bus_add_fallback_vtable(bus_, base::OutPtr(slots[0]), interface.path, interface.name,
                                       interface.vtable, OperationObjects::find, &operations_);
    if (r >= 0)
        r = sd_bus_add_node_enumerator(bus_, base::OutPtr(slots[1]), interface.path,
                                       OperationObjects::enumerate, &operations_);
    if (r >= 0)
        r = sd_bus_add_object_manager(bus_, base::OutPtr(slots[2]), manager_path);
    std::move(slots.begin(), slots.end(), std::back_inserter(slots_));
    return r < 0 ? base::fail_errno(interface.path, -r) : Result<void>();
}

Result<void> Server::request_name() {
    if (const int r = sd_bus_request_name(bus_, bus_name, 0); r < 0)
        return base::fail_errno("requesting the bus name '" + std::string(bus_name) + "'", -r);
    return {};
}

void Server::listen(host::Manager& manager) {
    manager.listen({[this](const host::Operation& operation) { added(operation); },
                    [this](const host::Operation& operation) { changed(operation); },
                    [this](const host::Operation& operation) { ended(operation); },
                    [this](const host::Operation& operation) { removed(operation); }});
    manager.on_change([this] {
        emit_changed(bus_, ManagerObject::interface, manager_path);
        for (const auto& [interface, object] : objects_)
            emit_changed(bus_, interface, interface.path);
    });
}

void Server::added(const host::Operation& operation) {
    const std::string path = operation_path(operation.id);
    signalled_state_ = host::state(operation);
    (void)sd_bus_emit_object_added(bus_, path.c_str());
    (void)sd_bus_emit_signal(bus_, manager_path, ManagerObject::interface.name, "OperationAdded", "to",
                             operation.id, path.c_str());
}

/// Emits PropertiesChanged: at once for a new state, otherwise at most once in progress_interval.
void Server::changed(const host::Operation& operation) {
    const std::uint64_t id = operation.id;
    if (host::state(operation) != signalled_state_) {
        signalled_state_ = host::state(operation);
        emit_progress(id);
    } else if (!progress_) {
        if (auto later = event_.after(progress_interval, [this, id] { emit_progress(id); }))
            progress_ = *std::move(later);
    }
}

void Server::emit_progress(std::uint64_t id) {
    progress_.reset();
    emit_changed(bus_, OperationObjects::interface, operation_path(id).c_str());
}

void Server::removed(const host::Operation& operation) {
    (void)sd_bus_emit_object_removed(bus_, operation_path(operation.id).c_str());
}

void Server::ended(const host::Operation& operation) {
    const std::string path = operation_path(operation.id);
    emit_progress(operation.id);
    (void)sd_bus_emit_signal(bus_, manager_path, ManagerObject::interface.name, "OperationEnded", "tos",
                             operation.id, path.c_str(), std::string(host::state(operation)).c_str());
}

} // namespace gpuhost::bus
