// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/async_client.hpp"

#include "daemon/base/json.hpp"
#include "daemon/client/client_bus.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <utility>

#include <poll.h>

namespace gpuhost::client {

using base::Errc;
using base::Error;
using base::Json;
using base::Result;
using std::chrono::milliseconds;

class AsyncClient::Bus {
  public:
    /// Receives a method's reply, or the error.
    using Answered = std::function<void(Result<sd_bus_message*>)>;

    Result<void> open() {
        if (const int r = sd_bus_open_system(base::OutPtr(bus_)); r < 0)
            return base::fail(Errc::Failed, base::errno_error("connecting to the system bus", -r).message,
                              "Check that it is running: systemctl status dbus.");
        return {};
    }

    void call(const Call& call, Answered answered) {
        auto request = make_call(bus_.get(), call);
        if (!request)
            return fail_call(request.error(), std::move(answered));
        (void)sd_bus_message_set_auto_start(request->get(), static_cast<int>(starts_daemon_));
        send(request->get(), std::move(answered));
    }

    void start_no_daemon() { starts_daemon_ = false; }

    Result<void> subscribe() {
        const int changes = sd_bus_match_signal_async(bus_.get(), base::OutPtr(changes_), service, nullptr,
                                                      nullptr, nullptr, on_change, nullptr, this);
        const int owners = sd_bus_match_signal_async(
            bus_.get(), base::OutPtr(owners_), "org.freedesktop.DBus", "/org/freedesktop/DBus",
            "org.freedesktop.DBus", "NameOwnerChanged", on_owner, nullptr, this);
        const int owned = sd_bus_call_method_async(bus_.get(), base::OutPtr(owned_), "org.freedesktop.DBus",
                                                   "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                                   "NameHasOwner", on_owned, this, "s", service);
        for (const int result : {changes, owners, owned})
            if (result < 0)
                return bus_failure(result);
        return {};
    }

    Result<Event> wait(milliseconds timeout, int wake) {
        const auto deadline = Clock::now() + timeout;
        for (;;) {
            int r = 0;
            while ((r = sd_bus_process(bus_.get(), nullptr)) > 0) {
            }
            if (r < 0)
                return base::fail(Errc::Interrupted, "the system bus closed the connection");
            // Events precede replies: an exit of the daemon is reported before the failed calls to the
            // daemon.
            if (const auto event = next_event())
                return *event;
            if (deliver())
                return Event::Interrupted;
            if (Clock::now() >= deadline)
                return Event::Timeout;
            GPUHOST_TRY(woken, poll_once(wake, deadline));
            if (woken)
                return Event::Interrupted;
        }
    }

  private:
    using Clock = std::chrono::steady_clock;

    struct Pending {
        Bus* bus = nullptr;
        Answered answered;
        SlotPtr slot;
    };
    struct Reply {
        Answered answered;
        MessagePtr message; ///< null if the call could not be sent; `error` has the reason
        Error error;
    };

    /// sd_bus_flush_close_unref would block if the bus does not read from its socket.
    using AsyncBusPtr = base::CHandle<sd_bus, sd_bus_close_unref>;

    void fail_call(Error error, Answered answered) {
        replies_.push_back({std::move(answered), nullptr, std::move(error)});
    }

    void send(sd_bus_message* request, Answered answered) {
        Pending& pending = pending_.emplace_back();
        pending.bus = this;
        pending.answered = std::move(answered);
        const int r = sd_bus_call_async(bus_.get(), base::OutPtr(pending.slot), request, on_reply, &pending,
                                        call_timeout_us);
        if (r >= 0)
            return;
        fail_call(explain(sd_bus_error{}, r), std::move(pending.answered));
        pending_.pop_back();
    }

    static int on_reply(sd_bus_message* reply, void* userdata, sd_bus_error* /*error*/) noexcept {
        auto& pending = *static_cast<Pending*>(userdata);
        Bus& self = *pending.bus;
        self.replies_.push_back({std::move(pending.answered), MessagePtr(sd_bus_message_ref(reply)), {}});
        self.pending_.remove_if([&pending](const Pending& one) { return &one == &pending; });
        return 0;
    }

    static int on_change(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/) noexcept {
        Bus& self = *static_cast<Bus*>(userdata);
        self.change_ = sd_bus_message_is_signal(message, nullptr, "OperationEnded") > 0
                           ? Event::Ended
                           : self.change_.value_or(Event::Changed);
        return 0;
    }

    static int on_owner(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/) noexcept {
        std::array<const char*, 3> text{};
        if (sd_bus_message_read(message, "sss", &text[0], &text[1], &text[2]) < 0 ||
            std::string_view(text[0]) != service)
            return 0;
        static_cast<Bus*>(userdata)->owner_event_ = *text[2] == '\0' ? Event::Gone : Event::Came;
        return 0;
    }

    /// Records the reply to NameHasOwner in the same way as on_owner() records a signal. The bus sends
    /// replies and signals in order, so the latest one is right.
    static int on_owned(sd_bus_message* reply, void* userdata, sd_bus_error* /*error*/) noexcept {
        int owned = 1; // after an error, assume that the daemon runs: calls then report its state
        if (sd_bus_message_is_method_error(reply, nullptr) <= 0)
            (void)sd_bus_message_read(reply, "b", &owned);
        static_cast<Bus*>(userdata)->owner_event_ = owned != 0 ? Event::Came : Event::Gone;
        return 0;
    }

    std::optional<Event> next_event() {
        if (owner_event_)
            return std::exchange(owner_event_, std::nullopt);
        return std::exchange(change_, std::nullopt);
    }

    bool deliver() {
        std::vector<Reply> replies = std::exchange(replies_, {});
        for (const Reply& reply : replies) {
            const sd_bus_error* const error =
                reply.message ? sd_bus_message_get_error(reply.message.get()) : nullptr;
            if (error != nullptr)
                reply.answered(base::fail(explain(*error, -sd_bus_message_get_errno(reply.message.get()))));
            else if (reply.message)
                reply.answered(reply.message.get());
            else
                reply.answered(base::fail(reply.error));
        }
        return !replies.empty();
    }

    /// Waits for the bus connection or `wake`; returns true if `wake` is readable. Returns at `deadline`, or
    /// earlier when sd_bus_process must fail a call that has timed out.
    Result<bool> poll_once(int wake, Clock::time_point deadline) {
        const int events = sd_bus_get_events(bus_.get());
        std::uint64_t until = 0; // CLOCK_MONOTONIC, like Clock
        const int r = sd_bus_get_timeout(bus_.get(), &until);
        if (events < 0 || r < 0)
            return bus_failure(std::min(events, r));
        const auto now = Clock::now();
        if (until != UINT64_MAX)
            deadline = std::min(deadline, Clock::time_point(std::chrono::microseconds(until)));
        const auto left = std::chrono::ceil<milliseconds>(deadline - now).count();
        std::array polled{pollfd{sd_bus_get_fd(bus_.get()), static_cast<short>(events), 0},
                          pollfd{wake, POLLIN, 0}};
        const int n = ::poll(polled.data(), polled.size(),
                             static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
        if (n < 0 && errno != EINTR)
            return base::fail_errno("waiting for gpuhostd", errno);
        return n > 0 && polled[1].revents != 0;
    }

    std::list<Pending> pending_; ///< destroyed after bus_, because their slots belong to bus_
    std::vector<Reply> replies_;
    AsyncBusPtr bus_;
    SlotPtr changes_;
    SlotPtr owners_;
    SlotPtr owned_;
    bool starts_daemon_ = true;
    std::optional<Event> change_;
    std::optional<Event> owner_event_;
};

namespace {

/// Returns an Answered that converts a reply with `read` and passes the value, or the error, to `done`.
template <class T, class Read>
auto answered_by(Read read, AsyncClient::Done<T> done) {
    return [read, done = std::move(done)](Result<sd_bus_message*> reply) {
        done(reply ? read(*reply) : Result<T>(base::fail(reply.error())));
    };
}

Result<void> read_nothing(sd_bus_message* /*reply*/) {
    return {};
}

} // namespace

AsyncClient::AsyncClient(std::unique_ptr<Bus> bus) : bus_(std::move(bus)) {}
AsyncClient::AsyncClient(AsyncClient&&) noexcept = default;
AsyncClient& AsyncClient::operator=(AsyncClient&&) noexcept = default;
AsyncClient::~AsyncClient() = default;

Result<AsyncClient> AsyncClient::connect() {
    auto bus = std::make_unique<Bus>();
    GPUHOST_CHECK(bus->open());
    return AsyncClient(std::move(bus));
}

void AsyncClient::start_no_daemon() {
    bus_->start_no_daemon();
}

void AsyncClient::ask(const Call& call, Done<Json> done) {
    bus_->call(call, answered_by<Json>(read_document, std::move(done)));
}

void AsyncClient::start(Call call, Options options, Done<std::uint64_t> done) {
    call.arguments.emplace_back(std::move(options));
    bus_->call(call, answered_by<std::uint64_t>(read_started, std::move(done)));
}

void AsyncClient::order(const Call& call, Done<void> done) {
    bus_->call(call, answered_by<void>(read_nothing, std::move(done)));
}

void AsyncClient::list_operations(Done<std::vector<OperationRow>> done) {
    bus_->call(manager_call("ListOperations"),
               answered_by<std::vector<OperationRow>>(read_operations, std::move(done)));
}

void AsyncClient::describe_operation(std::uint64_t id, Done<Json> done) {
    ask(operation_call(id, "Describe"), [id, done = std::move(done)](Result<Json> document) {
        done(std::move(document).map_error([id](const Error& error) { return about_operation(error, id); }));
    });
}

void AsyncClient::cancel(std::uint64_t id, Done<void> done) {
    order(operation_call(id, "Cancel"), [id, done = std::move(done)](const Result<void>& cancelled) {
        done(cancelled ? cancelled : Result<void>(base::fail(about_operation(cancelled.error(), id))));
    });
}

Result<void> AsyncClient::subscribe() {
    return bus_->subscribe();
}

Result<AsyncClient::Event> AsyncClient::wait(milliseconds timeout, int wake) {
    return bus_->wait(timeout, wake);
}

} // namespace gpuhost::client
