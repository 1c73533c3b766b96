// SPDX-License-Identifier: Apache-2.0
// The daemon's only event loop: wraps sd-event, with its event sources as owning handles.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/log.hpp"
#include "daemon/base/result.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include <systemd/sd-event.h>

namespace gpuhost::host {

/// Runs `function`, for callbacks from C. An exception is logged and becomes the result -ENOMEM or -EIO,
/// because it must not cross C frames.
template <class Function>
int guard(std::string_view what, Function&& function) noexcept {
    try {
        return function();
    } catch (const std::bad_alloc&) {
        base::log::error(std::string(what) + ": out of memory");
        return -ENOMEM;
    } catch (const std::exception& e) {
        base::log::error(std::string(what) + ": " + e.what());
    } catch (...) {
        base::log::error(std::string(what) + ": unknown exception");
    }
    return -EIO;
}

/// Runs `function` like guard(), for callbacks whose result sd-bus and sd-event ignore. After an exception
/// some work may be half done, so the loop exits. systemd restarts the daemon, which resumes the operation.
template <class Function>
int guard_or_exit(sd_event* loop, std::string_view what, Function&& function) noexcept {
    const int r = guard(what, [&] {
        function();
        return 0;
    });
    if (r < 0)
        (void)sd_event_exit(loop, EXIT_FAILURE);
    return r;
}

/// Owns an event source. Destroying the handle disables the source, even within the source's own callback.
using Source = base::CHandle<sd_event_source, sd_event_source_disable_unref>;

/// Owns the event loop. An exception in a callback is logged and makes the loop exit.
class Event {
  public:
    using Callback = std::function<void()>;

    [[nodiscard]] static base::Result<Event> create();

    [[nodiscard]] sd_event* get() const { return event_.get(); }

    /// Watches a descriptor; `events` is an epoll mask (EPOLLIN, …).
    [[nodiscard]] base::Result<Source> on_io(int fd, std::uint32_t events, Callback callback);
    /// Calls the callback once, after `delay`.
    [[nodiscard]] base::Result<Source> after(std::chrono::microseconds delay, Callback callback);
    /// Calls the callback once, in the loop's next iteration.
    [[nodiscard]] base::Result<Source> soon(Callback callback);
    /// Runs the callback for each `signal`. Blocks the signal first, as sd-event requires.
    [[nodiscard]] base::Result<Source> on_signal(int signal, Callback callback);
    /// Watches the file that `fd` refers to; `mask` is an inotify mask.
    [[nodiscard]] base::Result<Source> on_inotify(int fd, std::uint32_t mask, Callback callback);

    /// Sends keep-alive pings to the service manager, if the unit sets WatchdogSec=.
    [[nodiscard]] base::Result<void> enable_watchdog();
    [[nodiscard]] base::Result<int> run();
    /// Runs the loop until `condition` returns true or exit() is called. Checks `condition` before each
    /// iteration.
    [[nodiscard]] base::Result<void> run_until(const std::function<bool()>& condition);
    /// Returns the number of the loop's current iteration; nullopt if sd-event does not report it. Two
    /// callbacks never run in the same iteration.
    [[nodiscard]] std::optional<std::uint64_t> turn() const noexcept;
    void exit(int code) noexcept { (void)sd_event_exit(event_.get(), code); }

  private:
    using EventPtr = base::CHandle<sd_event, sd_event_unref>;
    explicit Event(EventPtr event) : event_(std::move(event)) {}
    EventPtr event_;
};

} // namespace gpuhost::host
