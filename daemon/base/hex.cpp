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

} // namespace gpuhost::base
