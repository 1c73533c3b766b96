// SPDX-License-Identifier: Apache-2.0
// The code for sd-bus that both clients share: messages to and from values, errors as text for a person,
// signals.
#pragma once

#include "daemon/client/client.hpp"

#include <systemd/sd-bus.h>

namespace gpuhost::client {

using BusPtr = base::CHandle<sd_bus, sd_bus_flush_close_unref>;
using MessagePtr = base::CHandle<sd_bus_message, sd_bus_message_unref>;
using SlotPtr = base::CHandle<sd_bus_slot, sd_bus_slot_unref>;

/// One connection to the daemon. Its errors have the text that gpuhostctl prints.
class Client::Bus {
  public:
    [[nodiscard]] base::Result<void> open(bool may_ask_password);
    [[nodiscard]] base::Result<void> open(base::UniqueFd socket); ///< directly to the daemon
    [[nodiscard]] base::Result<void> subscribe();
    [[nodiscard]] base::Result<Event> wait(std::optional<std::chrono::milliseconds> timeout, int wake);
    [[nodiscard]] base::Result<MessagePtr> call(const Call& call);
    /// Calls `member` of org.freedesktop.DBus with the daemon's bus name as its argument: NameHasOwner, for
    /// example.
    [[nodiscard]] base::Result<MessagePtr> call_bus(const char* member);

  private:
    static int on_change(sd_bus_message* m, void* userdata, sd_bus_error* error) noexcept;
    static int on_owner(sd_bus_message* m, void* userdata, sd_bus_error* error) noexcept;
    [[nodiscard]] std::optional<Event> next_event();
    [[nodiscard]] base::Result<int> poll_once(int wake,
                                              std::optional<std::chrono::steady_clock::time_point> deadline);

    BusPtr bus_;
    SlotPtr changes_;
    SlotPtr owners_;
    /// Timeout of a method call. open() makes it longer if polkit may ask for a password.
    std::uint64_t timeout_us_ = 0;
    bool direct_ = false; ///< connected to the daemon without a bus
    bool changed_ = false;
    bool ended_ = false;
    std::optional<Event> owner_event_;
};

inline constexpr const char* service = "org.gpuhost1";
inline constexpr const char* manager_interface = "org.gpuhost1.Manager";
inline constexpr std::uint64_t call_timeout_us = 25'000'000;

[[nodiscard]] Call operation_call(std::uint64_t id, std::string method);
/// Builds a call's message without sending it.
[[nodiscard]] base::Result<MessagePtr> make_call(sd_bus* bus, const Call& call);

[[nodiscard]] base::Result<base::Json> read_document(sd_bus_message* reply);
[[nodiscard]] base::Result<std::uint64_t> read_started(sd_bus_message* reply);
[[nodiscard]] base::Result<std::vector<OperationRow>> read_operations(sd_bus_message* reply);

/// Converts the error of a reply, or the negative errno `r` of sd-bus, to text for a person.
[[nodiscard]] base::Error explain(const sd_bus_error& error, int r);
[[nodiscard]] base::Error about_operation(const base::Error& error, std::uint64_t id);
/// Converts a negative errno of sd-bus to an error about the connection.
[[nodiscard]] tl::unexpected<base::Error> bus_failure(int r);

} // namespace gpuhost::client
