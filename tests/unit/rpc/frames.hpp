// SPDX-License-Identifier: Apache-2.0
// Bytes of an HTTP/2 client, made by hand, so that they may be wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhost::tests {

inline constexpr unsigned data_frame = 0, headers_frame = 1, priority_frame = 2, reset_frame = 3,
                          settings_frame = 4, ping_frame = 6, continuation_frame = 9;
inline constexpr unsigned end_stream = 1, end_headers = 4;
inline constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline std::string frame(unsigned type, unsigned flags, std::uint32_t stream, std::string_view content = {}) {
    std::string bytes;
    for (const unsigned shift : {16U, 8U, 0U})
        bytes += static_cast<char>(content.size() >> shift & 0xFFU);
    bytes += static_cast<char>(type);
    bytes += static_cast<char>(flags);
    for (const unsigned shift : {24U, 16U, 8U, 0U})
        bytes += static_cast<char>(stream >> shift & 0xFFU);
    return bytes.append(content);
}

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// Encodes headers as HPACK literals without an index; each text has less than 127 bytes.
inline std::string hpack(const HeaderList& headers) {
    std::string bytes;
    for (const auto& [name, value] : headers) {
        bytes += '\0';
        for (const std::string& text : {name, value})
            (bytes += static_cast<char>(text.size())) += text;
    }
    return bytes;
}

inline HeaderList request_headers(const std::string& path) {
    return {{":method", "POST"},
            {":scheme", "http"},
            {":path", path},
            {":authority", "localhost"},
            {"content-type", "application/grpc"},
            {"te", "trailers"}};
}

inline std::string start() {
    return std::string(preface) + frame(settings_frame, 0, 0);
}

inline std::string request(const HeaderList& headers, std::uint32_t stream = 1, unsigned flags = 0) {
    return frame(headers_frame, end_headers | flags, stream, hpack(headers));
}

inline std::string data(std::string_view content, std::uint32_t stream = 1, unsigned flags = end_stream) {
    return frame(data_frame, flags, stream, content);
}

} // namespace gpuhost::tests
