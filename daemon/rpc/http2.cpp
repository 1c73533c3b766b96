// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/http2.hpp"

namespace gpuhost::rpc {

using base::Errc;
using base::Result;

Headers::Headers(std::initializer_list<std::pair<std::string_view, std::string_view>> headers) {
    headers_.reserve(headers.size() + 2);
    for (const auto& [name, value] : headers)
        add(name, value);
}

void Headers::add(std::string_view name, std::string_view value) {
    // nghttp2 copies the bytes without changing them; its members are not const for C's sake.
    const auto bytes = [](std::string_view text) {
        return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data())); // NOLINT
    };
    headers_.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
}

tl::unexpected<base::Error> fail_http2(std::string_view what, int code) {
    return base::fail(Errc::Failed, std::string(what) + ": " + nghttp2_strerror(code));
}

Result<void> receive(nghttp2_session* session, std::string_view bytes) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const auto n = nghttp2_session_mem_recv(session, data, bytes.size());
    if (n < 0)
        return fail_http2("HTTP/2", static_cast<int>(n));
    return {};
}

Result<void> output(nghttp2_session* session, std::string& bytes) {
    while (bytes.size() < output_size) {
        const std::uint8_t* data = nullptr;
        const auto n = nghttp2_session_mem_send(session, &data);
        if (n < 0)
            return fail_http2("HTTP/2", static_cast<int>(n));
        if (n == 0)
            break;
        bytes.append(view(data, static_cast<std::size_t>(n)));
    }
    return {};
}

bool is_grpc(std::string_view content_type) {
    constexpr std::string_view type = "application/grpc";
    if (content_type.substr(0, type.size()) != type)
        return false;
    const std::string_view rest = content_type.substr(type.size());
    return rest.empty() || rest == "+proto" || rest.substr(0, 1) == ";" || rest.substr(0, 7) == "+proto;";
}

} // namespace gpuhost::rpc
