// SPDX-License-Identifier: Apache-2.0
// sd-bus as client.cpp needs it: calls with their errors explained, and what the daemon tells by itself.
#pragma once

#include "daemon/ctl/client.hpp"

#include <systemd/sd-bus.h>

namespace gpuhost::ctl {

using BusPtr = base::CHandle<sd_bus, sd_bus_flush_close_unref>;
using MessagePtr = base::CHandle<sd_bus_message, sd_bus_message_unref>;
using SlotPtr = base::CHandle<sd_bus_slot, sd_bus_slot_unref>;

/// One connection. Its errors are what a person should read.
class Client::Bus {
  public:
    [[nodiscard]] base::Result<void> open(bool may_ask_password);
    [[nodiscard]] base::Result<void> open(base::UniqueFd socket); ///< straight to the daemon
    [[nodiscard]] base::Result<void> subscribe();
    [[nodiscard]] base::Result<Event> wait(std::optional<std::chrono::milliseconds> timeout, int wake);
    [[nodiscard]] base::Result<MessagePtr> call(const Call& call);
    /// A method of the bus itself about our service.
    [[nodiscard]] base::Result<MessagePtr> call_bus(const char* member);

  private:
    static int on_change(sd_bus_message* m, void* userdata, sd_bus_error* error) noexcept;
    static int on_owner(sd_bus_message* m, void* userdata, sd_bus_error* error) noexcept;
    [[nodiscard]] std::optional<Event> take_event();
    [[nodiscard]] base::Result<int> poll_once(int wake,
                                              std::optional<std::chrono::steady_clock::time_point> deadline);

    BusPtr bus_;
    SlotPtr changes_;
    SlotPtr owners_;
    std::uint64_t timeout_us_ = 0; ///< of a call; open() knows
    bool direct_ = false;          ///< no bus between: nobody has a name
    bool changed_ = false;
    bool ended_ = false;
    std::optional<Event> owner_event_;
};

/// A negative result of sd-bus.
[[nodiscard]] tl::unexpected<base::Error> bus_failure(int r);

} // namespace gpuhost::ctl
