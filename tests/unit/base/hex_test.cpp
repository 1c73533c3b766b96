// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/hex.hpp"

#include <array>

#include <gtest/gtest.h>

namespace gpuhost::base {
namespace {

using Bytes = std::array<std::uint8_t, 4>;

TEST(Hex, EncodesAndDecodesBytes) {
    const Bytes bytes{0x00, 0x9a, 0xbc, 0xff};
    EXPECT_EQ(to_hex(bytes), "009abcff");
    EXPECT_EQ(to_hex({}), "");
    Bytes decoded{};
    EXPECT_TRUE(from_hex("009abcff", decoded));
    EXPECT_EQ(decoded, bytes);
}

TEST(Hex, DecodesOnlyLowerCaseOfRightLength) {
    for (const char* text : {"", "009abcf", "009abcff0", "009aBCff", "009abcfg", "0x9abcff", "009a bcf"}) {
        Bytes bytes{1, 2, 3, 4};
        EXPECT_FALSE(from_hex(text, bytes)) << text;
        EXPECT_EQ(bytes, (Bytes{1, 2, 3, 4})) << text;
    }
}

TEST(Hex, DigitsAreLowerCase) {
    EXPECT_TRUE(is_hex("0123456789abcdef"));
    EXPECT_TRUE(is_hex(""));
    for (const char* text : {"A", "g", "0x1", " 1", "1\n", "-1", "\xff"})
        EXPECT_FALSE(is_hex(text)) << text;
}

TEST(PercentEncoding, KeepsUnreservedAndNamedCharacters) {
    EXPECT_EQ(percent_encoded("AZaz09-._~"), "AZaz09-._~");
    EXPECT_EQ(percent_encoded("a b/c:%\n\xff"), "a%20b%2Fc%3A%25%0A%FF");
    EXPECT_EQ(percent_encoded(std::string_view("\0", 1)), "%00");
    EXPECT_EQ(percent_encoded("a b/c:%", ":/"), "a%20b/c:%25");
}

} // namespace
} // namespace gpuhost::base
