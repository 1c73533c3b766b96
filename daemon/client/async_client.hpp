// SPDX-License-Identifier: Apache-2.0
// A D-Bus client of gpuhostd for gpuhost-cluster, whose event loop also serves HTTP, and for the dashboard of
// gpuhostctl. Only wait() blocks; a daemon or a bus that does not reply delays no other work of the program.
#pragma once

#include "daemon/client/client.hpp"

#include <functional>

namespace gpuhost::client {

class AsyncClient {
  public:
    /// Receives the result of one call, or its error (Timeout after 25 seconds). wait() calls it, exactly
    /// once. It may start other calls of this client.
    template <class T>
    using Done = std::function<void(base::Result<T>)>;
    using Event = Client::Event;

    /// Connects to the bus at $DBUS_SYSTEM_BUS_ADDRESS, or else to the system bus.
    [[nodiscard]] static base::Result<AsyncClient> connect();
    AsyncClient(AsyncClient&&) noexcept;
    AsyncClient& operator=(AsyncClient&&) noexcept;
    AsyncClient(const AsyncClient&) = delete;
    AsyncClient& operator=(const AsyncClient&) = delete;
    ~AsyncClient();

    /// From now on, calls fail if the daemon does not run. Otherwise the bus starts it.
    void start_no_daemon();

    /// Calls a method that returns a document.
    void ask(const Call& call, Done<base::Json> done);
    /// Calls a method that starts an operation; adds `options` as its last argument. `done` receives the
    /// operation's id, or 0 if there is nothing to do.
    void start(Call call, Options options, Done<std::uint64_t> done);
    /// Calls a method that returns nothing.
    void order(const Call& call, Done<void> done);

    void list_operations(Done<std::vector<OperationRow>> done);
    void describe_operation(std::uint64_t id, Done<base::Json> done);
    void cancel(std::uint64_t id, Done<void> done);

    /// Makes wait() report the daemon's signals from now on. The first event is Came if the daemon is on the
    /// bus, otherwise Gone.
    [[nodiscard]] base::Result<void> subscribe();
    /// Blocks until an event or the timeout. Returns Interrupted if `wake` is readable. Also returns
    /// Interrupted after it has called the `done` of one or more calls. Fails if the bus has closed the
    /// connection.
    [[nodiscard]] base::Result<Event> wait(std::chrono::milliseconds timeout, int wake);

  private:
    class Bus;
    explicit AsyncClient(std::unique_ptr<Bus> bus);
    std::unique_ptr<Bus> bus_;
};

} // namespace gpuhost::client
