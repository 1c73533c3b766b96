// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/client_bus.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace gpuhost::client {

using base::Errc;
using base::Error;
using base::Json;
using base::Result;

namespace {

constexpr std::uint64_t password_timeout_us = 180'000'000; ///< of a method call: time to type a password

struct BusError {
    sd_bus_error value = SD_BUS_ERROR_NULL;
    BusError() = default;
    BusError(const BusError&) = delete;
    BusError& operator=(const BusError&) = delete;
    ~BusError() { sd_bus_error_free(&value); }
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

int first_error(std::initializer_list<int> results) {
    const auto it = std::find_if(results.begin(), results.end(), [](int r) { return r < 0; });
    return it == results.end() ? 0 : *it;
}

int append(sd_bus_message* m, const std::string& string) {
    return sd_bus_message_append(m, "s", string.c_str());
}

int append(sd_bus_message* m, const InputFile& file) {
    return sd_bus_message_append(m, "(sh)", file.name.c_str(), file.fd.get());
}

int append(sd_bus_message* m, const Options::value_type& option) {
    const auto& [key, value] = option;
    if (const auto* flag = std::get_if<bool>(&value))
        return sd_bus_message_append(m, "{sv}", key.c_str(), "b", static_cast<int>(*flag));
    if (const auto* number = std::get_if<std::uint64_t>(&value))
        return sd_bus_message_append(m, "{sv}", key.c_str(), "t", *number);
    return sd_bus_message_append(m, "{sv}", key.c_str(), "s", std::get<std::string>(value).c_str());
}

template <class Elements>
int append_array(sd_bus_message* m, const char* type, const Elements& elements) {
    int r = sd_bus_message_open_container(m, 'a', type);
    for (auto it = elements.begin(); r >= 0 && it != elements.end(); ++it)
        r = append(m, *it);
    return r < 0 ? r : sd_bus_message_close_container(m);
}

int append(sd_bus_message* m, const std::vector<std::string>& strings) {
    return append_array(m, "s", strings);
}

int append(sd_bus_message* m, std::span<const InputFile> files) {
    return append_array(m, "(sh)", files);
}

int append(sd_bus_message* m, const Options& options) {
    return append_array(m, "{sv}", options);
}

} // namespace

Error not_running() {
    return {Errc::Failed, "gpuhostd is not running", "Start it: systemctl start gpuhostd."};
}

Error explain(const sd_bus_error& error, int r) {
    const std::string_view name = error.name == nullptr ? "" : error.name;
    const std::string message = error.message == nullptr ? "" : error.message;
    if (name.substr(0, 13) == "org.gpuhost1.") {
        // A D-Bus error has one text only, so the daemon sends the message and its hint as two lines.
        const std::size_t line = message.find('\n');
        return {base::errc_from_dbus_name(name), message.substr(0, line),
                line == std::string::npos ? "" : message.substr(line + 1)};
    }
    if (is_one_of(name,
                  {SD_BUS_ERROR_SERVICE_UNKNOWN, SD_BUS_ERROR_NAME_HAS_NO_OWNER, SD_BUS_ERROR_DISCONNECTED,
                   "org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.systemd1.LoadFailed",
                   "org.freedesktop.DBus.Error.Spawn.ChildExited"}))
        return not_running();
    if (is_one_of(name, {SD_BUS_ERROR_ACCESS_DENIED, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED}))
        return {Errc::AccessDenied, "permission denied",
                "Run the command as root, or allow the action in polkit."};
    if (is_one_of(name, {SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_TIMEOUT}) || r == -ETIMEDOUT)
        return {Errc::Timeout, "gpuhostd does not answer",
                "If it is still starting, wait: gpuhostctl wait-ready. Else check it: systemctl status "
                "gpuhostd."};
    if (name == SD_BUS_ERROR_UNKNOWN_OBJECT)
        return {Errc::NotFound, message, ""};
    if (is_one_of(name, {SD_BUS_ERROR_UNKNOWN_METHOD, SD_BUS_ERROR_UNKNOWN_INTERFACE,
                         SD_BUS_ERROR_INVALID_SIGNATURE}))
        return {Errc::Unsupported, "the running gpuhostd does not support this request: " + message,
                "Restart it, as it may be older than gpuhostctl: systemctl restart gpuhostd."};
    if (name == SD_BUS_ERROR_INVALID_ARGS)
        return {Errc::InvalidArgument, message, ""};
    return message.empty() ? base::errno_error("communicating with gpuhostd", -r)
                           : Error{Errc::Failed, message, ""};
}

tl::unexpected<Error> bus_failure(int r) {
    return base::fail(base::errno_error("communicating with gpuhostd", -r));
}

/// Rewords the error NotFound. Here it means that operation `id` has no object, because its journal was
/// removed or never existed.
Error about_operation(const Error& error, std::uint64_t id) {
    if (error.code != Errc::NotFound)
        return error;
    return {Errc::NotFound, "operation " + std::to_string(id) + " not found",
            "List them: gpuhostctl operation list."};
}

Call operation_call(std::uint64_t id, std::string method) {
    return {
        "/org/gpuhost1/operation/_" + std::to_string(id), "org.gpuhost1.Operation", std::move(method), {}};
}

Result<MessagePtr> make_call(sd_bus* bus, const Call& call) {
    MessagePtr request;
    int r = sd_bus_message_new_method_call(bus, base::OutPtr(request), service, call.path.c_str(),
                                           call.interface.c_str(), call.method.c_str());
    for (auto it = call.arguments.begin(); r >= 0 && it != call.arguments.end(); ++it)
        r = std::visit([&](const auto& argument) { return append(request.get(), argument); }, *it);
    if (r < 0)
        return bus_failure(r);
    return request;
}

Result<Json> read_document(sd_bus_message* reply) {
    const char* text = nullptr;
    if (const int r = sd_bus_message_read(reply, "s", &text); r < 0)
        return bus_failure(r);
    return base::parse_json(text, "gpuhostd's answer");
}

Result<std::uint64_t> read_started(sd_bus_message* reply) {
    std::uint64_t id = 0;
    const char* object = nullptr;
    if (const int r = sd_bus_message_read(reply, "to", &id, &object); r < 0)
        return bus_failure(r);
    return id;
}

Result<std::vector<OperationRow>> read_operations(sd_bus_message* reply) {
    std::vector<OperationRow> rows;
    int r = sd_bus_message_enter_container(reply, 'a', "(tssstto)");
    while (r > 0) {
        OperationRow row;
        std::array<const char*, 4> text{};
        r = sd_bus_message_read(reply, "(tssstto)", &row.id, &text[0], &text[1], &text[2], &row.began_us,
                                &row.ended_us, &text[3]);
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

Result<void> Client::Bus::open(bool may_ask_password) {
    if (const int r = sd_bus_open_system(base::OutPtr(bus_)); r < 0)
        return base::fail(Errc::Failed, base::errno_error("connecting to the system bus", -r).message,
                          "Check that it is running: systemctl status dbus.");
    if (const int r = sd_bus_set_allow_interactive_authorization(bus_.get(), may_ask_password); r < 0)
        return bus_failure(r);
    timeout_us_ = may_ask_password && ::geteuid() != 0 ? password_timeout_us : call_timeout_us;
    return {};
}

Result<void> Client::Bus::open(base::UniqueFd socket) {
    direct_ = true;
    timeout_us_ = call_timeout_us;
    int r = sd_bus_new(base::OutPtr(bus_));
    if (r >= 0)
        r = sd_bus_set_fd(bus_.get(), socket.get(), socket.get());
    if (r >= 0)
        (void)socket.release(); // the bus owns it now
    if (r >= 0)
        r = sd_bus_start(bus_.get());
    return r < 0 ? bus_failure(r) : Result<void>();
}

Result<MessagePtr> Client::Bus::call(const Call& call) {
    GPUHOST_TRY(request, make_call(bus_.get(), call));
    BusError error;
    MessagePtr reply;
    const int r = sd_bus_call(bus_.get(), request.get(), timeout_us_, &error.value, base::OutPtr(reply));
    // The bus sends NoReply if the recipient disconnects. sd_bus_call() reports its own timeout as Timeout,
    // unlike sd_bus_call_async(), for which explain() takes NoReply as a timeout.
    if (sd_bus_error_has_name(&error.value, SD_BUS_ERROR_NO_REPLY) > 0)
        return base::fail(Errc::Interrupted, "gpuhostd exited before it answered",
                          "Check it: systemctl status gpuhostd.");
    if (r < 0)
        return base::fail(explain(error.value, r));
    return reply;
}

Result<MessagePtr> Client::Bus::call_bus(const char* member) {
    BusError error;
    MessagePtr reply;
    const int r =
        sd_bus_call_method(bus_.get(), "org.freedesktop.DBus", "/org/freedesktop/DBus",
                           "org.freedesktop.DBus", member, &error.value, base::OutPtr(reply), "s", service);
    if (r < 0)
        return base::fail(explain(error.value, r));
    return reply;
}

int Client::Bus::on_change(sd_bus_message* m, void* userdata, sd_bus_error* /*error*/) noexcept {
    Bus& self = *static_cast<Bus*>(userdata);
    self.changed_ = true;
    if (sd_bus_message_is_signal(m, nullptr, "OperationEnded") > 0)
        self.ended_ = true;
    return 0;
}

int Client::Bus::on_owner(sd_bus_message* m, void* userdata, sd_bus_error* /*error*/) noexcept {
    const char* name = nullptr;
    const char* before = nullptr;
    const char* now = nullptr;
    if (sd_bus_message_read(m, "sss", &name, &before, &now) < 0 || std::string_view(name) != service)
        return 0;
    static_cast<Bus*>(userdata)->owner_event_ = *now == '\0' ? Event::Gone : Event::Came;
    return 0;
}

Result<void> Client::Bus::subscribe() {
    if (changes_)
        return {};
    const int signals = sd_bus_match_signal(bus_.get(), base::OutPtr(changes_), direct_ ? nullptr : service,
                                            nullptr, nullptr, nullptr, on_change, this);
    if (direct_)
        return signals < 0 ? bus_failure(signals) : Result<void>();
    const int names = sd_bus_match_signal(bus_.get(), base::OutPtr(owners_), "org.freedesktop.DBus",
                                          "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged",
                                          on_owner, this);
    if (const int r = first_error({signals, names}); r < 0) {
        changes_.reset(); // the next call tries again
        return bus_failure(r);
    }
    return {};
}

/// Returns an exit or a start of the daemon before other events. If the daemon has done both, only the last
/// is reported.
std::optional<Client::Event> Client::Bus::next_event() {
    if (owner_event_)
        return std::exchange(owner_event_, std::nullopt);
    const bool changed = std::exchange(changed_, false);
    if (std::exchange(ended_, false))
        return Event::Ended;
    if (changed)
        return Event::Changed;
    return std::nullopt;
}

Result<int> Client::Bus::poll_once(int wake, std::optional<std::chrono::steady_clock::time_point> deadline) {
    const int events = sd_bus_get_events(bus_.get());
    if (events < 0)
        return bus_failure(events);
    std::array polled{pollfd{sd_bus_get_fd(bus_.get()), static_cast<short>(events), 0},
                      pollfd{wake, POLLIN, 0}};
    int timeout = -1;
    if (deadline) {
        const auto left = *deadline - std::chrono::steady_clock::now();
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        timeout = static_cast<int>(std::clamp<std::int64_t>(ms, 0, 3'600'000));
    }
    const int n = ::poll(polled.data(), polled.size(), timeout);
    if (n < 0 && errno != EINTR)
        return base::fail_errno("waiting for gpuhostd", errno);
    return polled[1].revents != 0 ? 1 : 0;
}

Result<Client::Event> Client::Bus::wait(std::optional<std::chrono::milliseconds> timeout, int wake) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = timeout ? std::optional(Clock::now() + *timeout) : std::nullopt;
    for (;;) {
        for (;;) {
            const int r = sd_bus_process(bus_.get(), nullptr);
            if (r < 0)
                return base::fail(Errc::Interrupted, direct_ ? "gpuhostd exited before the operation ended"
                                                             : "the system bus closed the connection");
            if (r == 0)
                break;
        }
        if (const auto event = next_event())
            return *event;
        if (deadline && Clock::now() >= *deadline)
            return Event::Timeout;
        GPUHOST_TRY(woken, poll_once(wake, deadline));
        if (woken != 0)
            return Event::Interrupted;
    }
}

} // namespace gpuhost::client
