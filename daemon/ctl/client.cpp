// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/client.hpp"

#include "daemon/ctl/client_bus.hpp"

#include <array>

namespace gpuhost::ctl {

using base::Errc;
using base::Error;
using base::Json;
using base::Result;

namespace {

constexpr const char* host_path = "/org/gpuhost1";
constexpr const char* driver_path = "/org/gpuhost1/driver";
constexpr const char* manager = "org.gpuhost1.Manager";
constexpr const char* driver = "org.gpuhost1.Driver";
constexpr const char* operation = "org.gpuhost1.Operation";

std::string path_of(std::uint64_t id) {
    return "/org/gpuhost1/operation/_" + std::to_string(id);
}

/// An operation's object is there as long as its journal is kept.
Error about_operation(const Error& error, std::uint64_t id) {
    if (error.code != Errc::NotFound)
        return error;
    return {Errc::NotFound, "there is no operation " + std::to_string(id), "see: gpuhostctl operation list"};
}

} // namespace

Client::Client(std::unique_ptr<Bus> bus) : bus_(std::move(bus)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::connect(bool may_ask_password) {
    auto bus = std::make_unique<Bus>();
    GPUHOST_CHECK(bus->open(may_ask_password));
    return Client(std::move(bus));
}

Result<Json> Client::describe_host() {
    return bus_->call_json(host_path, manager, "Describe", {});
}

Result<Json> Client::plan() {
    return bus_->call_json(host_path, manager, "Plan",
                           [](sd_bus_message* m) { return append_options(m, {}); });
}

Result<Json> Client::list_drivers() {
    return bus_->call_json(driver_path, driver, "List", {});
}

Result<Json> Client::plan_driver(const std::string& request, const std::vector<std::string>& arguments,
                                 const Options& options) {
    return bus_->call_json(driver_path, driver, "Plan", [&](sd_bus_message* m) {
        return first_error({sd_bus_message_append(m, "s", request.c_str()), append_strings(m, arguments),
                            append_options(m, options)});
    });
}

Result<bool> Client::running() {
    GPUHOST_TRY(reply, bus_->call_bus("NameHasOwner"));
    int owned = 0;
    if (const int r = sd_bus_message_read(reply.get(), "b", &owned); r < 0)
        return bus_failure(r);
    return owned != 0;
}

Result<bool> Client::ready() {
    GPUHOST_TRY(reply, bus_->call(host_path, "org.freedesktop.DBus.Properties", "Get", [](sd_bus_message* m) {
        return sd_bus_message_append(m, "ss", manager, "Ready");
    }));
    int ready = 0;
    if (const int r = sd_bus_message_read(reply.get(), "v", "b", &ready); r < 0)
        return bus_failure(r);
    return ready != 0;
}

Result<std::vector<std::string>> Client::reload() {
    GPUHOST_TRY(reply, bus_->call(host_path, manager, "Reload", {}));
    std::vector<std::string> problems;
    const char* problem = nullptr;
    int r = sd_bus_message_enter_container(reply.get(), 'a', "s");
    while (r > 0 && (r = sd_bus_message_read(reply.get(), "s", &problem)) > 0)
        problems.emplace_back(problem);
    if (r < 0)
        return bus_failure(r);
    return problems;
}

void Client::check_only(bool on) {
    check_only_ = on;
}

Options Client::asked(Options options) const {
    if (check_only_)
        options["dry-run"] = true;
    return options;
}

Result<std::uint64_t> Client::apply() {
    return bus_->start(host_path, manager, "Apply",
                       [this](sd_bus_message* m) { return append_options(m, asked({})); });
}

Result<std::uint64_t> Client::import(const std::vector<InputFile>& files) {
    return bus_->start(driver_path, driver, "Import", [&](sd_bus_message* m) {
        return first_error({append_files(m, files), append_options(m, asked({}))});
    });
}

Result<std::uint64_t> Client::build(const std::string& version, const std::vector<std::string>& kernels,
                                    const Options& options) {
    return bus_->start(driver_path, driver, "Build", [&](sd_bus_message* m) {
        return first_error({sd_bus_message_append(m, "s", version.c_str()), append_strings(m, kernels),
                            append_options(m, asked(options))});
    });
}

Result<std::uint64_t> Client::verify(const std::string& version) {
    return bus_->start(driver_path, driver, "Verify", [&](sd_bus_message* m) {
        return first_error({sd_bus_message_append(m, "s", version.c_str()), append_options(m, asked({}))});
    });
}

Result<std::uint64_t> Client::remove(const std::string& version) {
    return bus_->start(driver_path, driver, "Remove", [&](sd_bus_message* m) {
        return first_error({sd_bus_message_append(m, "s", version.c_str()), append_options(m, asked({}))});
    });
}

Result<std::uint64_t> Client::swap(const std::string& version, const Options& options) {
    return bus_->start(driver_path, driver, "Swap", [&](sd_bus_message* m) {
        return first_error(
            {sd_bus_message_append(m, "s", version.c_str()), append_options(m, asked(options))});
    });
}

Result<std::uint64_t> Client::rollback(const Options& options) {
    return bus_->start(driver_path, driver, "Rollback",
                       [&](sd_bus_message* m) { return append_options(m, asked(options)); });
}

Result<std::vector<OperationRow>> Client::list_operations() {
    GPUHOST_TRY(reply, bus_->call(host_path, manager, "ListOperations", {}));
    std::vector<OperationRow> rows;
    int r = sd_bus_message_enter_container(reply.get(), 'a', "(tssstto)");
    while (r > 0) {
        OperationRow row;
        std::array<const char*, 4> text{};
        r = sd_bus_message_read(reply.get(), "(tssstto)", &row.id, &text[0], &text[1], &text[2],
                                &row.began_us, &row.ended_us, &text[3]);
        if (r <= 0)
            break;
        row.kind = text[0];
        row.state = text[1];
        row.title = text[2];
        rows.push_back(std::move(row));
    }
    if (r < 0)
        return bus_failure(r);
    return rows;
}

Result<Json> Client::describe_operation(std::uint64_t id) {
    return bus_->call_json(path_of(id), operation, "Describe", {}).map_error([&](const Error& error) {
        return about_operation(error, id);
    });
}

Result<void> Client::cancel(std::uint64_t id) {
    if (auto reply = bus_->call(path_of(id), operation, "Cancel", {}); !reply)
        return base::fail(about_operation(reply.error(), id));
    return {};
}

Result<void> Client::subscribe() {
    return bus_->subscribe();
}

Result<Client::Event> Client::wait(std::optional<std::chrono::milliseconds> timeout, int wake) {
    return bus_->wait(timeout, wake);
}

} // namespace gpuhost::ctl
