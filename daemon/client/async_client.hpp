// SPDX-License-Identifier: Apache-2.0
// The daemon over D-Bus, for a program with other work in its loop: nothing here waits for an answer. A daemon or a bus that
// answers nothing delays these calls alone.
#pragma once

#include "daemon/client/client.hpp"

#include <functional>

namespace gpuhost::ctl {

class AsyncClient {
  public:
    /// Called from within wait(), once, with the answer or an error: Timeout after 25 seconds. It may make other calls.
    template <class T>
    using Done = std::function<void(base::Result<T>)>;
    using Event = Client::Event;

    /// Connects to the bus at $DBUS_SYSTEM_BUS_ADDRESS, else to the system's.
    [[nodiscard]] static base::Result<AsyncClient> connect();
    AsyncClient(AsyncClient&&) noexcept;
    AsyncClient& operator=(AsyncClient&&) noexcept;
    AsyncClient(const AsyncClient&) = delete;
    AsyncClient& operator=(const AsyncClient&) = delete;
    ~AsyncClient();

    /// Calls a method that answers with a document.
    void ask(const Call& call, Done<base::Json> done);
    /// Calls a method that starts an operation; its options come last. The operation's id, or 0 when nothing is to be done.
    void start(Call call, Options options, Done<std::uint64_t> done);
    /// Calls a method without an answer of its own.
    void order(const Call& call, Done<void> done);

    void list_operations(Done<std::vector<OperationRow>> done);
    void describe_operation(std::uint64_t id, Done<base::Json> done);
    void cancel(std::uint64_t id, Done<void> done);

    /// From here on wait() reports changes: first, whether the daemon is on the bus, as Came or Gone.
    [[nodiscard]] base::Result<void> subscribe();
    /// Sleeps until something happens. Interrupted: `wake` became readable, or calls have been answered. An error: the bus
    /// has closed the connection.
    [[nodiscard]] base::Result<Event> wait(std::chrono::milliseconds timeout, int wake);

  private:
    class Bus;
    explicit AsyncClient(std::unique_ptr<Bus> bus);
    std::unique_ptr<Bus> bus_;
};

} // namespace gpuhost::ctl
