// SPDX-License-Identifier: Apache-2.0
// One call of a ServerSession. Only the session and Call use it.
#pragma once

#include "daemon/rpc/message.hpp"
#include "daemon/rpc/service.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::rpc {

class ServerSession;

/// The headers of a request that are checked.
struct RequestHead {
    std::string method;
    std::string path;
    std::string content_type;
    std::string te;
    std::size_t size = 0; ///< bytes of all headers

    /// Returns the header's place; nullptr if it is not checked.
    [[nodiscard]] std::string* place(std::string_view name);
    /// Returns the HTTP status that refuses the request; 200 for gRPC.
    [[nodiscard]] unsigned http_status() const;
};

struct ServerStream {
    ServerStream(ServerSession& owner, std::int32_t number, std::size_t message_limit, std::uint64_t now_us)
        : session(&owner), id(number), began_us(now_us), request(message_limit) {}

    void send(std::string_view message);
    void end(Status status);
    /// Answers a request that is not gRPC, without a body.
    void refuse(unsigned http_status);
    /// Fills a frame with queued bytes, for nghttp2.
    [[nodiscard]] std::ptrdiff_t read(std::uint8_t* to, std::size_t size, std::uint32_t* flags);

    [[nodiscard]] bool open() const { return session != nullptr && !ended_; }
    [[nodiscard]] std::size_t queued() const { return queued_; }

    ServerSession* session; ///< nullptr: the stream or the connection is gone
    const std::int32_t id;
    const std::uint64_t began_us;
    RequestHead head;
    MessageReader request;
    const Method* method = nullptr; ///< that the request names
    bool complete = false;          ///< the client has sent all of the request
    std::function<void()> on_cancel;

  private:
    void begin_answer();
    void resume();
    void submit_trailer();
    std::deque<std::string> queue_;
    std::size_t queued_ = 0; ///< bytes of queue_
    std::size_t sent_ = 0;   ///< bytes of the first queued message that are in frames
    bool begun_ = false;     ///< nghttp2 has the answer's headers
    bool waiting_ = false;   ///< nghttp2 asks for bytes after nghttp2_session_resume_data()
    std::optional<Status> ended_;
};

} // namespace gpuhost::rpc
