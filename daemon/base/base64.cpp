// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/base64.hpp"

#include <cstdint>

namespace gpuhost::base {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Removes the padding, 0 to 2 characters at the end, and returns their number.
std::size_t strip_padding(std::string& text) {
    std::size_t padding = 0;
    for (; padding < 2 && !text.empty() && text.back() == '='; ++padding)
        text.pop_back();
    return padding;
}

} // namespace

std::string encode_base64(std::string_view bytes) {
    std::string encoded;
    encoded.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const auto at = [&](std::size_t k) -> std::uint32_t {
            return k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0U;
        };
        const std::uint32_t bits = at(i) << 16U | at(i + 1) << 8U | at(i + 2);
        for (const unsigned shift : {18U, 12U, 6U, 0U})
            encoded.push_back(alphabet[bits >> shift & 63U]);
    }
    if (const std::size_t rest = bytes.size() % 3; rest != 0)
        encoded.replace(encoded.size() - (3 - rest), 3 - rest, 3 - rest, '=');
    return encoded;
}

std::optional<std::string> decode_base64(std::string_view text) {
    std::string digits(text);
    std::erase_if(digits, [](char c) { return c == '\r' || c == '\n'; });
    if (digits.size() % 4 != 0)
        return std::nullopt;
    const std::size_t padding = strip_padding(digits);
    std::string decoded;
    decoded.reserve(digits.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : digits) {
        const std::size_t digit = alphabet.find(c);
        if (digit == std::string_view::npos)
            return std::nullopt;
        bits = bits << 6U | static_cast<std::uint32_t>(digit);
        held += 6;
        if (held >= 8) {
            held -= 8;
            decoded.push_back(static_cast<char>(bits >> held & 0xffU));
        }
    }
    return held == 2 * padding ? std::optional(decoded) : std::nullopt;
}

} // namespace gpuhost::base
