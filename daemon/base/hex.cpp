// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/hex.hpp"

namespace gpuhost::base {

std::string to_hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::uint8_t byte : bytes)
        text += {hex_digits[byte >> 4U], hex_digits[byte & 15U]};
    return text;
}

bool from_hex(std::string_view text, std::span<std::uint8_t> bytes) noexcept {
    if (text.size() != 2 * bytes.size() || !is_hex(text))
        return false;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] =
            static_cast<std::uint8_t>(hex_digits.find(text[2 * i]) << 4U | hex_digits.find(text[2 * i + 1]));
    return true;
}

bool is_hex(std::string_view text) noexcept {
    return text.find_first_not_of(hex_digits) == std::string_view::npos;
}

std::string percent_encoded(std::string_view text, std::string_view also) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    constexpr std::string_view unreserved =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    std::string encoded;
    for (const char c : text) {
        const auto byte = static_cast<std::uint8_t>(c);
        if (unreserved.find(c) != std::string_view::npos || also.find(c) != std::string_view::npos)
            encoded += c;
        else
            encoded += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
    return encoded;
}

} // namespace gpuhost::base
