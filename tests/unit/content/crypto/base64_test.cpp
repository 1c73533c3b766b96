// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/crypto/base64.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

TEST(Base64, DecodesPaddedTextAndIgnoresLineBreaks) {
    const std::pair<std::string, std::string> rows[] = {
        // RFC 4648, 10
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
        {"Zm9v\r\nYmFy\n", "foobar"},
        {"+/+/", "\xfb\xff\xbf"},
        {"AAAA", std::string(3, '\0')},
        {"Zh==", "f"}, // unused bits are ignored, as in Go
    };
    for (const auto& [text, bytes] : rows)
        EXPECT_EQ(decode_base64(text), bytes) << text;
}

TEST(Base64, EncodesWithPaddingOnOneLine) {
    for (const char* text : {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "+/+/"})
        EXPECT_EQ(encode_base64(decode_base64(text).value()), text);
    EXPECT_EQ(encode_base64(std::string(300, '\0')), std::string(400, 'A'));
}

TEST(Base64, RefusesBadPaddingAndOtherCharacters) {
    for (const char* text :
         {"Z",        "Zg",       "Zg=",       "Zm9",       "Zg===", "====",     "=",
          "Z===",     "Zg==Zg==", "Z=g=",      "Zm9v Zm9v", "-_-_",  "Zm9v!",    "Zm9v    ",
          "    Zm9v", "Zm9v----", "Zm9\tZm9v", "Zm9 ",      "Zm9-",  "Zg== Zg=", "\xff\xff\xff\xff"})
        EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

} // namespace
} // namespace gpuhost::content
