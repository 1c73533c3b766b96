// SPDX-License-Identifier: Apache-2.0
// The functions of nghttp2 that client and server share. nghttp2 does HTTP/2 without I/O.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

namespace gpuhost::rpc {

using Http2 = base::CHandle<nghttp2_session, nghttp2_session_del>;
using Http2Callbacks = base::CHandle<nghttp2_session_callbacks, nghttp2_session_callbacks_del>;
using Http2Option = base::CHandle<nghttp2_option, nghttp2_option_del>;

/// Bytes that output() functions collect for one write.
inline constexpr std::size_t output_size = 64U << 10U;

/// Runs a callback of nghttp2. An exception, which must not cross C frames, ends the connection.
template <class Function>
int guarded(Function&& function) noexcept {
    try {
        return function();
    } catch (const std::exception&) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
}

/// Headers for nghttp2, which copies them. The views must outlive this object.
class Headers {
  public:
    Headers(std::initializer_list<std::pair<std::string_view, std::string_view>> headers);
    void add(std::string_view name, std::string_view value);
    [[nodiscard]] const nghttp2_nv* data() const { return headers_.data(); }
    [[nodiscard]] std::size_t size() const { return headers_.size(); }

  private:
    std::vector<nghttp2_nv> headers_;
};

[[nodiscard]] inline std::string_view view(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

/// Fails with nghttp2's text.
[[nodiscard]] tl::unexpected<base::Error> fail_http2(std::string_view what, int code);
/// Gives received bytes to the session.
[[nodiscard]] base::Result<void> receive(nghttp2_session* session, std::string_view bytes);
/// Appends up to about output_size bytes that the session has to send.
[[nodiscard]] base::Result<void> output(nghttp2_session* session, std::string& bytes);
/// Returns true for "application/grpc" and "application/grpc+proto", also with parameters.
[[nodiscard]] bool is_grpc(std::string_view content_type);

} // namespace gpuhost::rpc
