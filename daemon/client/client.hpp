// SPDX-License-Identifier: Apache-2.0
// The daemon over D-Bus, in values.
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

namespace gpuhost::ctl {

using Options = std::map<std::string, std::variant<bool, std::uint64_t, std::string>>; ///< a{sv}

struct InputFile {
    std::string name; ///< without its directory
    base::UniqueFd fd;
};

/// s, as, a(sh) and a{sv}. Files stay the caller's and open until the call is made.
using Argument = std::variant<std::string, std::vector<std::string>, std::span<const InputFile>, Options>;

/// One method of one of the daemon's objects.
struct Call {
    std::string path;
    std::string interface;
    std::string method;
    std::vector<Argument> arguments;
};

/// A method of org.gpuhost1.Manager, which has what concerns the whole host.
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
    /// The bus at $DBUS_SYSTEM_BUS_ADDRESS, else the system's. Whether the daemon runs shows at the first
    /// call.
    [[nodiscard]] static base::Result<Client> connect(bool may_ask_password);
    /// gpuhostd at the other end of a socket, without a bus between.
    [[nodiscard]] static base::Result<Client> over(base::UniqueFd socket);
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    /// A method that answers with a document.
    [[nodiscard]] base::Result<base::Json> ask(const Call& call);
    /// A method that starts an operation; its options come last. The operation's id, or 0 when nothing is to be
    /// done.
    [[nodiscard]] base::Result<std::uint64_t> start(Call call, Options options);

    [[nodiscard]] base::Result<base::Json> describe_host();
    [[nodiscard]] base::Result<bool> running(); ///< the daemon is on the bus; does not start it
    [[nodiscard]] base::Result<bool> ready();
    [[nodiscard]] base::Result<std::vector<std::string>> reload();
    [[nodiscard]] base::Result<void> reboot(); ///< refused unless the daemon asks for one

    [[nodiscard]] base::Result<std::vector<OperationRow>> list_operations();
    [[nodiscard]] base::Result<base::Json> describe_operation(std::uint64_t id);
    [[nodiscard]] base::Result<void> cancel(std::uint64_t id);

    /// From here on wait() reports changes. Called before an operation is started, so that none is missed.
    [[nodiscard]] base::Result<void> subscribe();
    enum class Event {
        Changed,     ///< a property or an operation of the daemon changed: look again
        Ended,       ///< an operation ended
        Gone,        ///< the daemon left the bus
        Came,        ///< the daemon is on the bus (again)
        Interrupted, ///< `wake` became readable
        Timeout,
    };
    /// Sleeps until something happens; several changes at once are one. `wake`: a descriptor to watch too, or
    /// -1.
    [[nodiscard]] base::Result<Event> wait(std::optional<std::chrono::milliseconds> timeout, int wake);

  private:
    class Bus; ///< client_bus.hpp
    explicit Client(std::unique_ptr<Bus> bus);
    std::unique_ptr<Bus> bus_;
};

} // namespace gpuhost::ctl
