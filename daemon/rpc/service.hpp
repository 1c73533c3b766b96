// SPDX-License-Identifier: Apache-2.0
// The services of a server, their methods, and the calls of clients.
#pragma once

#include "daemon/base/result.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::rpc {

struct ServerStream;

/// A call that a client has made. Copies are handles of the same call, which may outlive the connection and
/// the server. When the last one is destroyed before the end of the call, the client gets an error.
class Call {
  public:
    explicit Call(const std::shared_ptr<ServerStream>& stream);

    /// Sends a message; a method with one answer uses answer(). Does nothing if the call is not open.
    void send(std::string_view message) const;
    /// Ends the call: the client gets success or the error, after all messages. Later calls do nothing.
    void end(const base::Result<void>& result = {}) const;
    /// Sends the only answer of a method, and ends the call.
    void answer(const base::Result<std::string>& answer) const;
    /// Returns false after end(), and when the client has cancelled the call or is gone.
    [[nodiscard]] bool open() const;
    /// Sets what is called once if the client cancels the call or its connection ends before end().
    void on_cancel(std::function<void()> function) const;

  private:
    struct Handle;
    std::shared_ptr<Handle> handle_;
};

/// Called with the request of each call. It may answer at once or later; the message is valid only during the
/// function. It must not destroy the server.
using Method = std::function<void(std::string_view message, Call call)>;

struct Service {
    std::string name; ///< with its package: "v1beta1.DevicePlugin"
    std::map<std::string, Method, std::less<>> methods;
};

/// The open calls of a method that sends messages until the client ends it.
class Watchers {
  public:
    void add(Call call) { calls_.push_back(std::move(call)); }
    /// Sends a message to all. Forgets calls that are not open.
    void send(std::string_view message);
    /// Ends all calls.
    void end(const base::Result<void>& result = {});
    [[nodiscard]] std::size_t count();

  private:
    std::vector<Call> calls_;
};

} // namespace gpuhost::rpc
