// SPDX-License-Identifier: Apache-2.0
// sd-bus as client.cpp needs it: calls with their errors explained, arguments, and what the daemon tells by itself.
#pragma once

#include "daemon/ctl/client.hpp"

#include <functional>
#include <initializer_list>

#include <systemd/sd-bus.h>

namespace gpuhost::ctl {

using BusPtr = base::CHandle<sd_bus, sd_bus_flush_close_unref>;
using MessagePtr = base::CHandle<sd_bus_message, sd_bus_message_unref>;
using SlotPtr = base::CHandle<sd_bus_slot, sd_bus_slot_unref>;

/// One connection. Its errors are what a person should read.
class Client::Bus {
  public:
    using Append = std::function<int(sd_bus_message*)>;

    [[nodiscard]] base::Result<void> open(bool may_ask_password);
    [[nodiscard]] base::Result<void> subscribe();
    [[nodiscard]] base::Result<Event> wait(std::optional<std::chrono::milliseconds> timeout, int wake);
    [[nodiscard]] base::Result<MessagePtr> call(const std::string& path, const char* interface,
                                                const char* member, const Append& append);
    /// A method of the bus itself about our service.
    [[nodiscard]] base::Result<MessagePtr> call_bus(const char* member);
    [[nodiscard]] base::Result<base::Json> call_json(const std::string& path, const char* interface,
                                                     const char* member, const Append& append);
    [[nodiscard]] base::Result<std::uint64_t> start(const char* path, const char* interface,
                                                    const char* member, const Append& append);

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
    bool changed_ = false;
    std::optional<Event> owner_event_;
};

/// A negative result of sd-bus.
[[nodiscard]] tl::unexpected<base::Error> bus_failure(int r);
/// The first of several results that is an error.
[[nodiscard]] int first_error(std::initializer_list<int> results);

[[nodiscard]] int append_options(sd_bus_message* m, const Options& options);
[[nodiscard]] int append_strings(sd_bus_message* m, const std::vector<std::string>& strings);
[[nodiscard]] int append_files(sd_bus_message* m, const std::vector<InputFile>& files);

} // namespace gpuhost::ctl
