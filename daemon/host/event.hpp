// SPDX-License-Identifier: Apache-2.0
// The daemon's only event loop: sd-event with its sources as owned handles.
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

/// Runs `function` for a C callback. An exception is logged and becomes -ENOMEM or -EIO; it never crosses
/// into C.
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

/// Runs `function` like guard(), for calls whose result nobody reads. After an exception something may be
/// half done, so the loop ends. systemd then restarts the daemon, which resumes the operation.
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

/// Owns an event source. Dropping it stops the source, also from inside its own callback.
using Source = base::CHandle<sd_event_source, sd_event_source_disable_unref>;

/// Owns the event loop. A callback that throws ends the loop.
class Event {
  public:
    using Callback = std::function<void()>;

    [[nodiscard]] static base::Result<Event> create();

    [[nodiscard]] sd_event* get() const { return event_.get(); }

    /// Watches a descriptor; `events` is an epoll mask (EPOLLIN, …).
    [[nodiscard]] base::Result<Source> on_io(int fd, std::uint32_t events, Callback callback);
    [[nodiscard]] base::Result<Source> after(std::chrono::microseconds delay, Callback callback); ///< once
    [[nodiscard]] base::Result<Source> soon(Callback callback); ///< once, next turn
    /// Blocks the signal first, as sd-event requires.
    [[nodiscard]] base::Result<Source> on_signal(int signal, Callback callback);
    /// Watches the file that `fd` refers to; `mask` is an inotify mask.
    [[nodiscard]] base::Result<Source> on_inotify(int fd, std::uint32_t mask, Callback callback);

    /// Enables the service manager's watchdog, if the unit sets one.
    [[nodiscard]] base::Result<void> enable_watchdog();
    [[nodiscard]] base::Result<int> run();
    /// Runs until `condition` holds, checked after each turn, or until exit() is called.
    [[nodiscard]] base::Result<void> run_until(const std::function<bool()>& condition);
    /// Returns the number of this turn of the loop, which differs for each callback; nullopt if sd-event does
    /// not report it.
    [[nodiscard]] std::optional<std::uint64_t> turn() const noexcept;
    void exit(int code) noexcept { (void)sd_event_exit(event_.get(), code); }

  private:
    using EventPtr = base::CHandle<sd_event, sd_event_unref>;
    explicit Event(EventPtr event) : event_(std::move(event)) {}
    EventPtr event_;
};

} // namespace gpuhost::host
