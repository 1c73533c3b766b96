// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/message.hpp"

#include <algorithm>
#include <cstdint>

namespace gpuhost::rpc {

std::string framed(std::string_view message) {
    std::string bytes(1, '\0');
    for (const unsigned shift : {24U, 16U, 8U, 0U})
        bytes += static_cast<char>(message.size() >> shift & 0xFFU);
    return bytes.append(message);
}

Status MessageReader::add(std::string_view bytes) {
    const std::size_t missing = message_prefix_size - std::min(bytes_.size(), message_prefix_size);
    const std::string_view prefix = bytes.substr(0, missing);
    bytes_.append(prefix);
    bytes.remove_prefix(prefix.size());
    if (!bytes_.empty() && bytes_[0] != '\0')
        return {Code::Unimplemented, "compressed messages are not supported"};
    if (bytes_.size() < message_prefix_size)
        return {};
    if (length() > limit_)
        return {Code::ResourceExhausted, "message too large: " + std::to_string(length()) +
                                             " bytes, at most " + std::to_string(limit_)};
    if (bytes.size() > message_prefix_size + length() - bytes_.size())
        return {Code::Unimplemented, "more than one message in a call that has one"};
    bytes_.append(bytes);
    return {};
}

bool MessageReader::complete() const {
    return bytes_.size() >= message_prefix_size && bytes_.size() == message_prefix_size + length();
}

std::string_view MessageReader::message() const {
    return std::string_view(bytes_).substr(message_prefix_size);
}

std::size_t MessageReader::length() const {
    std::size_t length = 0;
    for (std::size_t i = 1; i < message_prefix_size; ++i)
        length = length << 8U | static_cast<std::uint8_t>(bytes_[i]);
    return length;
}

} // namespace gpuhost::rpc
