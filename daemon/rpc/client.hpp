// SPDX-License-Identifier: Apache-2.0
// A client of a gRPC server on a unix socket: one call with one answer, on a connection of its own. It has no
// thread: the caller's event loop watches one descriptor.
#pragma once

#include "daemon/rpc/client_session.hpp"

#include <memory>
#include <optional>
#include <string>

namespace gpuhost::rpc {

class UnaryCall {
  public:
    /// Connects to the socket `path` and starts the call. Destroying the object cancels it.
    [[nodiscard]] static base::Result<UnaryCall> start(const std::string& path, UnaryRequest request);
    ~UnaryCall();
    UnaryCall(UnaryCall&&) noexcept;
    UnaryCall& operator=(UnaryCall&&) noexcept;
    UnaryCall(const UnaryCall&) = delete;
    UnaryCall& operator=(const UnaryCall&) = delete;

    /// Returns a descriptor for the caller's event loop. It is readable when work() has something to do.
    [[nodiscard]] int descriptor() const;
    /// Does what is possible without waiting. Returns the answer when it is known: the serialized message,
    /// the server's error, or Timeout at the deadline.
    [[nodiscard]] std::optional<base::Result<std::string>> work();
    /// Waits for the answer, for programs without a loop.
    [[nodiscard]] base::Result<std::string> wait();

  private:
    struct State;
    explicit UnaryCall(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace gpuhost::rpc
