// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/event.hpp"

#include <csignal>
#include <memory>

#include <sys/inotify.h>

namespace gpuhost::host {

namespace {

using base::fail_errno;
using base::Result;

int call(sd_event_source* source, void* userdata) noexcept {
    // Get the loop before the callback runs, because the callback may free `source`.
    sd_event* loop = sd_event_source_get_event(source);
    return guard_or_exit(loop, "event", *static_cast<Event::Callback*>(userdata));
}

int io_callback(sd_event_source* source, int, std::uint32_t, void* userdata) {
    return call(source, userdata);
}
int time_callback(sd_event_source* source, std::uint64_t, void* userdata) {
    return call(source, userdata);
}
int plain_callback(sd_event_source* source, void* userdata) {
    return call(source, userdata);
}
int signal_callback(sd_event_source* source, const signalfd_siginfo*, void* userdata) {
    return call(source, userdata);
}
int inotify_callback(sd_event_source* source, const inotify_event*, void* userdata) {
    return call(source, userdata);
}

void free_callback(void* userdata) {
    const std::unique_ptr<Event::Callback> owned(static_cast<Event::Callback*>(userdata));
}

/// Makes the source own the callback. sd-event frees the callback after the last dispatch, so a callback may
/// destroy its own source.
Result<Source> own(Source source, int r, std::unique_ptr<Event::Callback> callback, const char* what) {
    if (r >= 0)
        r = sd_event_source_set_destroy_callback(source.get(), free_callback);
    if (r < 0)
        return fail_errno(what, -r);
    (void)callback.release();
    return source;
}

} // namespace

Result<Event> Event::create() {
    EventPtr event;
    if (const int r = sd_event_new(base::OutPtr(event)); r < 0)
        return fail_errno("creating the event loop", -r);
    return Event(std::move(event));
}

Result<Source> Event::on_io(int fd, std::uint32_t events, Callback callback) {
    auto owned = std::make_unique<Callback>(std::move(callback));
    Source source;
    const int r = sd_event_add_io(event_.get(), base::OutPtr(source), fd, events, io_callback, owned.get());
    return own(std::move(source), r, std::move(owned), "watching a descriptor");
}

Result<Source> Event::after(std::chrono::microseconds delay, Callback callback) {
    auto owned = std::make_unique<Callback>(std::move(callback));
    Source source;
    const int r =
        sd_event_add_time_relative(event_.get(), base::OutPtr(source), CLOCK_MONOTONIC,
                                   static_cast<std::uint64_t>(delay.count()), 0, time_callback, owned.get());
    return own(std::move(source), r, std::move(owned), "setting a timer");
}

Result<Source> Event::soon(Callback callback) {
    auto owned = std::make_unique<Callback>(std::move(callback));
    Source source;
    const int r = sd_event_add_defer(event_.get(), base::OutPtr(source), plain_callback, owned.get());
    return own(std::move(source), r, std::move(owned), "deferring a call");
}

Result<Source> Event::on_signal(int signal, Callback callback) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    if (sigprocmask(SIG_BLOCK, &set, nullptr) < 0)
        return fail_errno("blocking a signal", errno);
    auto owned = std::make_unique<Callback>(std::move(callback));
    Source source;
    const int r =
        sd_event_add_signal(event_.get(), base::OutPtr(source), signal, signal_callback, owned.get());
    return own(std::move(source), r, std::move(owned), "watching a signal");
}

Result<Source> Event::on_inotify(int fd, std::uint32_t mask, Callback callback) {
    auto owned = std::make_unique<Callback>(std::move(callback));
    Source source;
    const int r =
        sd_event_add_inotify_fd(event_.get(), base::OutPtr(source), fd, mask, inotify_callback, owned.get());
    return own(std::move(source), r, std::move(owned), "watching a file");
}

Result<void> Event::enable_watchdog() {
    if (const int r = sd_event_set_watchdog(event_.get(), 1); r < 0)
        return fail_errno("enabling the watchdog", -r);
    return {};
}

Result<int> Event::run() {
    const int r = sd_event_loop(event_.get());
    if (r < 0)
        return fail_errno("running the event loop", -r);
    return r;
}

Result<void> Event::run_until(const std::function<bool()>& condition) {
    while (!condition() && sd_event_get_state(event_.get()) != SD_EVENT_FINISHED)
        if (const int r = sd_event_run(event_.get(), UINT64_MAX); r < 0)
            return fail_errno("running the event loop", -r);
    return {};
}

std::optional<std::uint64_t> Event::turn() const noexcept {
    std::uint64_t turn = 0;
    return sd_event_get_iteration(event_.get(), &turn) < 0 ? std::nullopt : std::optional(turn);
}

} // namespace gpuhost::host
