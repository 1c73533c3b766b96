// SPDX-License-Identifier: Apache-2.0
// The server's end of one connection, without I/O: bytes of the client come in, bytes for it go out.
// HTTP/2 is nghttp2's; here are gRPC's rules (grpc.io, "gRPC over HTTP2") and the limits.
#pragma once

#include "daemon/base/rate_limit.hpp"
#include "daemon/rpc/limits.hpp"
#include "daemon/rpc/service.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct nghttp2_session;

namespace gpuhost::rpc {

class ServerSession {
  public:
    /// `services` must outlive the session. `on_output` is called when there is something to send after a
    /// Call was used outside of receive().
    [[nodiscard]] static base::Result<std::unique_ptr<ServerSession>>
    make(const std::vector<Service>& services, const Limits& limits, std::function<void()> on_output);
    ~ServerSession();
    ServerSession(const ServerSession&) = delete;
    ServerSession& operator=(const ServerSession&) = delete;

    /// Reads bytes, and calls the methods of complete requests.
    void receive(std::string_view bytes, std::uint64_t now_us);
    /// Appends bytes to send, about 64 KiB at most in a call. Appends nothing if there are none now.
    void output(std::string& bytes);
    /// Returns why the connection must end; empty while it is good. The output then tells the client.
    [[nodiscard]] const std::string& failure() const { return failure_; }
    /// Refuses new calls. Open ones go on.
    void shut_down();
    /// Tells the services that the client is gone. Destroying the session does not.
    void cancel_calls();

    /// Returns true when the connection has no more use.
    [[nodiscard]] bool done() const;
    [[nodiscard]] bool has_calls() const { return !streams_.empty(); }
    /// Returns when the oldest incomplete request began, or the connection, until its first frames are here.
    [[nodiscard]] std::optional<std::uint64_t> incomplete_since() const;

  private:
    friend struct ServerStream;
    friend struct ServerCallbacks;
    using Streams = std::map<std::int32_t, std::shared_ptr<ServerStream>>;

    ServerSession(const std::vector<Service>& services, const Limits& limits,
                  std::function<void()> on_output);
    [[nodiscard]] ServerStream* find(std::int32_t id) const;
    void begin_request(std::int32_t id);
    void check_head(ServerStream& stream);
    void add_data(ServerStream& stream, std::string_view bytes);
    void end_request(ServerStream& stream);
    void close_stream(std::int32_t id);
    void count_frame(unsigned type, std::size_t length);
    void renew_control_limit();
    void count_outgoing(std::size_t added);
    void dispatch();
    void notify_cancelled();
    void fail(const std::string& why);
    void wake();

    const std::vector<Service>& services_;
    Limits limits_;
    std::function<void()> on_output_;
    base::RateLimit resets_;
    std::optional<base::RateLimit> control_frames_;
    struct Http2Delete {
        void operator()(nghttp2_session* session) const noexcept;
    };
    std::unique_ptr<nghttp2_session, Http2Delete> http2_;
    Streams streams_;
    std::vector<std::shared_ptr<ServerStream>> ready_;     ///< complete requests, during receive()
    std::vector<std::shared_ptr<ServerStream>> cancelled_; ///< closed by the client, during receive()
    std::size_t incoming_ = 0;                             ///< bytes of incomplete requests
    std::size_t outgoing_ = 0;                             ///< bytes of queued answers
    std::uint64_t now_us_ = 0;
    std::uint64_t began_us_ = 0;
    bool settled_ = false;   ///< the client's first SETTINGS frame is here
    bool receiving_ = false; ///< in receive(), which sends afterwards
    std::string failure_;    ///< why the connection must end
};

} // namespace gpuhost::rpc
