// SPDX-License-Identifier: Apache-2.0
// A D-Bus client of gpuhostd that blocks until a reply arrives; arguments and replies are values.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/json_fwd.hpp"
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
    std::string name; ///< file name without its directory
    base::UniqueFd fd;
};

/// The D-Bus types s, as, a(sh) and a{sv}. The caller owns the files and keeps them open until the call is
/// made.
using Argument = std::variant<std::string, std::vector<std::string>, std::span<const InputFile>, Options>;

/// A method of one of the daemon's objects with its arguments, or the name of a property.
struct Call {
    std::string path;
    std::string interface;
    std::string method;
    std::vector<Argument> arguments;
};

/// Returns the error of a call while the daemon is not on the bus.
[[nodiscard]] base::Error not_running();

/// Describes a call of a method of org.gpuhost1.Manager, the object for the whole host; sends nothing.
[[nodiscard]] Call manager_call(std::string method, std::vector<Argument> arguments = {});

struct OperationRow {
    std::uint64_t id = 0;
    std::string kind;
    std::string state;
    std::string title;
    std::uint64_t began_us = 0; ///< CLOCK_REALTIME
    std::uint64_t ended_us = 0; ///< 0 while it runs
};

/// Returns the newest operation that runs or is not a check (dry-run): a check does not hide the outcome of
/// the last change. Null if there is none.
[[nodiscard]] const OperationRow* last_operation(const std::vector<OperationRow>& rows);

class Client {
  public:
    /// Connects to the bus at $DBUS_SYSTEM_BUS_ADDRESS, or else to the system bus. It succeeds even if the
    /// daemon does not run: the first call then fails. `may_ask_password` lets polkit ask the user for a
    /// password.
    [[nodiscard]] static base::Result<Client> connect(bool may_ask_password);
    /// Connects to the gpuhostd at the other end of `socket`, without a bus (rescue mode).
    [[nodiscard]] static base::Result<Client> over(base::UniqueFd socket);
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    /// Calls a method that returns a document.
    [[nodiscard]] base::Result<base::Json> ask(const Call& call);
    /// Calls a method that starts an operation; adds `options` as its last argument. Returns the operation's
    /// id, or 0 if there is nothing to do.
    [[nodiscard]] base::Result<std::uint64_t> start(Call call, Options options);

    [[nodiscard]] base::Result<std::string> read_text(const Call& property); ///< a property of type s

    [[nodiscard]] base::Result<base::Json> describe_host();
    [[nodiscard]] base::Result<bool> running(); ///< true if the daemon is on the bus; does not start it
    [[nodiscard]] base::Result<bool> ready();
    [[nodiscard]] base::Result<std::vector<std::string>> reload();

    [[nodiscard]] base::Result<std::vector<OperationRow>> list_operations();
    [[nodiscard]] base::Result<base::Json> describe_operation(std::uint64_t id);
    [[nodiscard]] base::Result<void> cancel(std::uint64_t id);

    /// Makes wait() report the daemon's signals from now on. Call it before start(), so that no signal of the
    /// operation is missed.
    [[nodiscard]] base::Result<void> subscribe();
    enum class Event {
        Changed,     ///< a property or an operation of the daemon changed: the caller reads it again
        Ended,       ///< an operation ended
        Gone,        ///< the daemon left the bus
        Came,        ///< the daemon is on the bus (again)
        Interrupted, ///< `wake` became readable
        Timeout,
    };
    /// Blocks until an event or the timeout. Several changes since the last call are one event. `wake` is
    /// another descriptor to watch, or -1.
    [[nodiscard]] base::Result<Event> wait(std::optional<std::chrono::milliseconds> timeout, int wake);

  private:
    class Bus; ///< see client_bus.hpp
    explicit Client(std::unique_ptr<Bus> bus);
    std::unique_ptr<Bus> bus_;
};

} // namespace gpuhost::client
