// SPDX-License-Identifier: Apache-2.0
// Calls the daemon over D-Bus for a program that has other work in its loop: no function blocks for an
// answer. A daemon or a bus that does not answer delays these calls only.
#pragma once

#include "daemon/client/client.hpp"

#include <functional>

namespace gpuhost::client {

class AsyncClient {
  public:
    /// Called once, within wait(), with the answer or an error: Timeout after 25 seconds. It may make other
    /// calls.
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

    /// Calls a method that returns a document.
    void ask(const Call& call, Done<base::Json> done);
    /// Calls a method that starts an operation; its options come last. `done` receives the operation's id, or
    /// 0 if there is nothing to do.
    void start(Call call, Options options, Done<std::uint64_t> done);
    /// Calls a method that returns nothing.
    void order(const Call& call, Done<void> done);

    void list_operations(Done<std::vector<OperationRow>> done);
    void describe_operation(std::uint64_t id, Done<base::Json> done);
    void cancel(std::uint64_t id, Done<void> done);

    /// Makes wait() report changes from now on. The first event is Came or Gone: whether the daemon is on the
    /// bus.
    [[nodiscard]] base::Result<void> subscribe();
    /// Sleeps until an event. Interrupted means that `wake` became readable, or that calls were answered.
    /// Fails if the bus has closed the connection.
    [[nodiscard]] base::Result<Event> wait(std::chrono::milliseconds timeout, int wake);

  private:
    class Bus;
    explicit AsyncClient(std::unique_ptr<Bus> bus);
    std::unique_ptr<Bus> bus_;
};

} // namespace gpuhost::client
