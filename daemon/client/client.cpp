// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/client.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/client/client_bus.hpp"

#include <algorithm>

namespace gpuhost::client {

using base::Error;
using base::Json;
using base::Result;

namespace {

constexpr const char* host_path = "/org/gpuhost1";

Call get(const Call& property) {
    return {property.path, "org.freedesktop.DBus.Properties", "Get", {property.interface, property.method}};
}

} // namespace

Call manager_call(std::string method, std::vector<Argument> arguments) {
    return {host_path, manager_interface, std::move(method), std::move(arguments)};
}

Client::Client(std::unique_ptr<Bus> bus) : bus_(std::move(bus)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::connect(bool may_ask_password) {
    auto bus = std::make_unique<Bus>();
    GPUHOST_CHECK(bus->open(may_ask_password));
    return Client(std::move(bus));
}

Result<Client> Client::over(base::UniqueFd socket) {
    auto bus = std::make_unique<Bus>();
    GPUHOST_CHECK(bus->open(std::move(socket)));
    return Client(std::move(bus));
}

Result<Json> Client::ask(const Call& call) {
    GPUHOST_TRY(reply, bus_->call(call));
    return read_document(reply.get());
}

Result<std::uint64_t> Client::start(Call call, Options options) {
    call.arguments.emplace_back(std::move(options));
    GPUHOST_TRY(reply, bus_->call(call));
    return read_started(reply.get());
}

Result<std::string> Client::read_text(const Call& property) {
    GPUHOST_TRY(reply, bus_->call(get(property)));
    const char* text = nullptr;
    if (const int r = sd_bus_message_read(reply.get(), "v", "s", &text); r < 0)
        return bus_failure(r);
    return std::string(text);
}

Result<Json> Client::describe_host() {
    return ask(manager_call("Describe"));
}

Result<bool> Client::running() {
    GPUHOST_TRY(reply, bus_->call_bus("NameHasOwner"));
    int owned = 0;
    if (const int r = sd_bus_message_read(reply.get(), "b", &owned); r < 0)
        return bus_failure(r);
    return owned != 0;
}

Result<bool> Client::ready() {
    GPUHOST_TRY(reply, bus_->call(get(manager_call("Ready"))));
    int ready = 0;
    if (const int r = sd_bus_message_read(reply.get(), "v", "b", &ready); r < 0)
        return bus_failure(r);
    return ready != 0;
}

Result<std::vector<std::string>> Client::reload() {
    GPUHOST_TRY(reply, bus_->call(manager_call("Reload")));
    std::vector<std::string> problems;
    const char* problem = nullptr;
    int r = sd_bus_message_enter_container(reply.get(), 'a', "s");
    while (r > 0 && (r = sd_bus_message_read(reply.get(), "s", &problem)) > 0)
        problems.emplace_back(problem);
    if (r < 0)
        return bus_failure(r);
    return problems;
}

Result<std::vector<OperationRow>> Client::list_operations() {
    GPUHOST_TRY(reply, bus_->call(manager_call("ListOperations")));
    return read_operations(reply.get());
}

const OperationRow* last_operation(const std::vector<OperationRow>& rows) {
    const auto last = std::find_if(rows.rbegin(), rows.rend(), [](const OperationRow& row) {
        return row.ended_us == 0 || !base::starts_with(row.title, "check: ");
    });
    return last == rows.rend() ? nullptr : &*last;
}

Result<Json> Client::describe_operation(std::uint64_t id) {
    return ask(operation_call(id, "Describe")).map_error([&](const Error& error) {
        return about_operation(error, id);
    });
}

Result<void> Client::cancel(std::uint64_t id) {
    if (auto reply = bus_->call(operation_call(id, "Cancel")); !reply)
        return base::fail(about_operation(reply.error(), id));
    return {};
}

Result<void> Client::subscribe() {
    return bus_->subscribe();
}

Result<Client::Event> Client::wait(std::optional<std::chrono::milliseconds> timeout, int wake) {
    return bus_->wait(timeout, wake);
}

} // namespace gpuhost::client
