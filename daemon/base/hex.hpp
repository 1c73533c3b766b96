// SPDX-License-Identifier: Apache-2.0
// Hexadecimal digits in text: bytes as two lower-case digits each, and percent-encoding.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpuhost::base {

inline constexpr std::string_view hex_digits = "0123456789abcdef";

[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);
/// Fills `bytes`. Returns false if the text does not consist of exactly two lower-case digits for each byte.
[[nodiscard]] bool from_hex(std::string_view text, std::span<std::uint8_t> bytes) noexcept;
/// Returns true if the text has only lower-case digits. It may be empty.
[[nodiscard]] bool is_hex(std::string_view text) noexcept;

/// Encodes all bytes but RFC 3986's unreserved characters and those in `also` as '%' and two upper-case
/// digits.
[[nodiscard]] std::string percent_encoded(std::string_view text, std::string_view also = {});

} // namespace gpuhost::base
