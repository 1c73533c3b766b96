// SPDX-License-Identifier: Apache-2.0
// The client's end of a connection with one call, without I/O.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/rpc/message.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct nghttp2_session;

namespace gpuhost::rpc {

struct UnaryRequest {
    std::string method;                         ///< "/v1.PodResourcesLister/List"
    std::string message;                        ///< serialized
    std::chrono::milliseconds deadline{10'000}; ///< for the whole call; the server is told
    std::size_t limit = 16U << 20U;             ///< bytes of the answer
};

class ClientSession {
  public:
    [[nodiscard]] static base::Result<std::unique_ptr<ClientSession>> make(UnaryRequest request);
    ~ClientSession();
    ClientSession(const ClientSession&) = delete;
    ClientSession& operator=(const ClientSession&) = delete;

    void receive(std::string_view bytes);
    /// Appends bytes to send; nothing if there are none now.
    void output(std::string& bytes);
    /// Reports that the server has closed the connection.
    void end();
    /// Returns the result, when it is known.
    [[nodiscard]] std::optional<base::Result<std::string>> answer() const;

  private:
    friend struct ClientCallbacks;
    explicit ClientSession(UnaryRequest request);
    [[nodiscard]] base::Result<void> submit();
    void add_header(std::string_view name, std::string_view value);
    void finish();
    void fail(base::Errc code, const std::string& problem);

    struct Http2Delete {
        void operator()(nghttp2_session* session) const noexcept;
    };
    UnaryRequest request_;
    std::string framed_;
    std::size_t sent_ = 0;
    std::unique_ptr<nghttp2_session, Http2Delete> http2_;
    MessageReader reader_;
    std::size_t header_size_ = 0;
    std::string http_status_;
    std::string content_type_;
    std::optional<Status> status_;
    std::string status_message_;
    std::optional<base::Result<std::string>> answer_;
};

} // namespace gpuhost::rpc
