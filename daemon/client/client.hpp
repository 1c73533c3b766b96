// SPDX-License-Identifier: Apache-2.0
// Calls the daemon over D-Bus; arguments and answers are values.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace gpuhost::client {

using Options = std::map<std::string, std::variant<bool, std::uint64_t, std::string>>; ///< a{sv}

struct InputFile {
    std::string name; ///< without its directory
    base::UniqueFd fd;
};

/// s, as, a(sh) and a{sv}. The caller owns the files and keeps them open until the call is made.
using Argument = std::variant<std::string, std::vector<std::string>, std::span<const InputFile>, Options>;

/// A method of one of the daemon's objects, with its arguments.
struct Call {
    std::string path;
    std::string interface;
    std::string method;
    std::vector<Argument> arguments;
};

/// Returns a call of a method of org.gpuhost1.Manager, which covers the whole host.
[[nodiscard]] Call manager_call(std::string method, std::vector<Argument> arguments = {});

struct OperationRow {
    std::uint64_t id = 0;
    std::string kind;
    std::string state;
    std::string title;
    std::uint64_t began_us = 0; ///< CLOCK_REALTIME
    std::uint64_t ended_us = 0; ///< 0 while it runs
};

class Client {
  public:
    /// Connects to the bus at $DBUS_SYSTEM_BUS_ADDRESS, or else to the system bus. Only the first call shows
    /// whether the daemon runs.
    [[nodiscard]] static base::Result<Client> connect(bool may_ask_password);
    /// Connects to gpuhostd at the other end of a socket, without a bus.
    [[nodiscard]] static base::Result<Client> over(base::UniqueFd socket);
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    /// Calls a method that returns a document.
    [[nodiscard]] base::Result<base::Json> ask(const Call& call);
    /// Calls a method that starts an operation; its options come last. Returns the operation's id, or 0 if
    /// there is nothing to do.
    [[nodiscard]] base::Result<std::uint64_t> start(Call call, Options options);

    [[nodiscard]] base::Result<base::Json> describe_host();
    [[nodiscard]] base::Result<bool> running(); ///< the daemon is on the bus; does not start it
    [[nodiscard]] base::Result<bool> ready();
    [[nodiscard]] base::Result<std::vector<std::string>> reload();
    [[nodiscard]] base::Result<void> reboot(); ///< refused unless the daemon requires one

    [[nodiscard]] base::Result<std::vector<OperationRow>> list_operations();
    [[nodiscard]] base::Result<base::Json> describe_operation(std::uint64_t id);
    [[nodiscard]] base::Result<void> cancel(std::uint64_t id);

    /// Makes wait() report changes from now on. Call before starting an operation, so that no change is
    /// missed.
    [[nodiscard]] base::Result<void> subscribe();
    enum class Event {
        Changed,     ///< a property or an operation of the daemon changed: read it again
        Ended,       ///< an operation ended
        Gone,        ///< the daemon left the bus
        Came,        ///< the daemon is on the bus (again)
        Interrupted, ///< `wake` became readable
        Timeout,
    };
    /// Sleeps until an event; several changes count as one. `wake` is another descriptor to watch, or -1.
    [[nodiscard]] base::Result<Event> wait(std::optional<std::chrono::milliseconds> timeout, int wake);

  private:
    class Bus; ///< see client_bus.hpp
    explicit Client(std::unique_ptr<Bus> bus);
    std::unique_ptr<Bus> bus_;
};

} // namespace gpuhost::client
