// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/package/rpm.hpp"

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

using base::Errc;

std::string number(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>(value >> static_cast<unsigned>(shift) & 0xffU);
    return bytes;
}

struct Text {
    std::uint32_t tag;
    std::string value;
};

std::string header(const std::vector<Text>& texts) {
    std::string index;
    std::string store;
    for (const Text& text : texts) {
        index += number(text.tag) + number(6) + number(static_cast<std::uint32_t>(store.size())) + number(1);
        store += text.value + std::string(1, '\0');
    }
    return "\x8e\xad\xe8\x01" + std::string(4, '\0') + number(static_cast<std::uint32_t>(texts.size())) +
           number(static_cast<std::uint32_t>(store.size())) + index + store;
}

std::string package(const std::vector<Text>& texts) {
    std::string image = "\xed\xab\xee\xdb" + std::string(92, '\0') + header({{1000, "x"}});
    image.resize((image.size() + 7) / 8 * 8, '\0');
    return image + header(texts);
}

const std::vector<Text> whole{
    {1000, "nvidia-container-toolkit"}, {1001, "1.18.1"}, {1002, "1"}, {1022, "x86_64"}};

TEST(RpmTest, ReadsNameVersionAndOffsetOfThePayload) {
    const std::string image = package(whole);
    const auto found = parse_rpm_header(image + "payload", "x.rpm");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->package, "nvidia-container-toolkit");
    EXPECT_EQ(found->version, "1.18.1");
    EXPECT_EQ(found->release, "1");
    EXPECT_EQ(found->architecture, "x86_64");
    EXPECT_EQ(found->payload, image.size());
}

TEST(RpmTest, RefusesEveryPrefix) {
    const std::string image = package(whole);
    for (std::size_t size = 0; size < image.size(); ++size) {
        const auto found = parse_rpm_header(std::string_view(image).substr(0, size), "x.rpm");
        ASSERT_FALSE(found) << size;
        EXPECT_EQ(found.error().code, Errc::BadContent);
    }
}

TEST(RpmTest, RefusesOffsetsOutsideAndTooLargeHeaders) {
    const std::string image = package(whole);
    const std::size_t at = image.size() - header(whole).size();
    for (const auto& [offset, value] : {std::pair<std::size_t, std::uint32_t>{at + 8, 0xffffffffU},
                                        {at + 12, 0xffffffffU},
                                        {at + 16 + 8, 0x7fffffffU},
                                        {at, 0}}) {
        std::string bad = image;
        bad.replace(offset, 4, number(value));
        const auto found = parse_rpm_header(bad, "x.rpm");
        ASSERT_FALSE(found) << offset;
        EXPECT_EQ(found.error().code, Errc::BadContent);
        EXPECT_NE(found.error().message.find("x.rpm: not an RPM package"), std::string::npos);
    }
}

TEST(RpmTest, RefusesInvalidAndMissingNames) {
    for (const char* name : {"", "../x", "a b", ".x"})
        EXPECT_FALSE(
            parse_rpm_header(package({{1000, name}, {1001, "1"}, {1002, "1"}, {1022, "x86_64"}}), "x"))
            << name;
    EXPECT_FALSE(parse_rpm_header(package({{1000, "x"}, {1001, "1"}, {1002, "1"}}), "x"));
}

} // namespace
} // namespace gpuhost::content
