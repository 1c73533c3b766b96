// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/yaml.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::Json;

Json parsed(const std::string& text) {
    const auto value = parse_yaml(text, "x.yaml");
    EXPECT_TRUE(value) << value.error().message;
    return value ? *value : Json("not parsed");
}

std::string refusal(const std::string& text) {
    const auto value = parse_yaml(text, "x.yaml");
    if (value)
        return "taken as " + value->dump();
    EXPECT_EQ(value.error().code, Errc::BadContent);
    return value.error().message;
}

TEST(Yaml, PlainScalarsAreWhatTheySayAndQuotedOnesAreTexts) {
    EXPECT_EQ(
        parsed("[0, '0', \"0\", -1, 0666, 0o666, 0x1ff, 0b11, 08, true, 'true', null, ~, '', 0.5.0, a b]"),
        Json::parse(
            R"([0, "0", "0", -1, 438, 438, 511, 3, "08", true, "true", null, null, "", "0.5.0", "a b"])"));
    EXPECT_EQ(
        parsed("[18446744073709551615, 18446744073709551616, -9223372036854775808, .5, yes, TRUE]"),
        Json::parse(
            R"([18446744073709551615, "18446744073709551616", "-9223372036854775808", ".5", "yes", true])"));
}

TEST(Yaml, JsonIsYaml) {
    EXPECT_EQ(parsed(R"({"a": [1, {"b": "2"}], "c": {}})"),
              Json::parse(R"({"a": [1, {"b": "2"}], "c": {}})"));
}

TEST(Yaml, AnAliasIsWhatItNames) {
    EXPECT_EQ(parsed("a: &x [1]\nb: *x\n"), Json::parse(R"({"a": [1], "b": [1]})"));
}

/// `fan` aliases in each of some levels.
std::string bomb(const std::string& text, int fan) {
    std::string made = "a0: &a0 " + text + "\n";
    for (int i = 1; i < 9; ++i) {
        const std::string before = "*a" + std::to_string(i - 1) + " ";
        made += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
        for (int j = 1; j < fan; ++j)
            made += ", " + before;
        made += "]\n";
    }
    return made;
}

TEST(Yaml, FewAliasesThatStandForVeryManyValuesAreRefused) {
    EXPECT_EQ(refusal(bomb("x", 10)), "x.yaml: line 6: stands for too much");
    EXPECT_EQ(parsed(bomb("x", 2))["a8"].dump().size(), 256 * 3 + 255 + 2 * 255U);
}

TEST(Yaml, AliasesThatStandForALongTextAreRefused) {
    EXPECT_EQ(refusal(bomb(std::string(100'000, 'x'), 4)), "x.yaml: line 3: stands for too much");
}

TEST(Yaml, AnchorsThatKeepOneThingVeryOftenAreRefused) {
    std::string nested;
    for (int i = 0; i < 40; ++i)
        nested += "&a" + std::to_string(i) + " [";
    EXPECT_EQ(refusal(nested + std::string(500'000, 'x') + std::string(40, ']')),
              "x.yaml: line 1: stands for too much");
}

TEST(Yaml, AMiBOfPathsWithoutAliasesIsNotTooMuch) {
    std::string list;
    while (list.size() < 1'000'000)
        list += "- /usr/lib/libcuda.so.550.163.01\n";
    EXPECT_EQ(parsed(list).size(), 30'304U);
}

TEST(Yaml, ANodeInItselfIsRefused) {
    EXPECT_EQ(refusal("&a [*a]"), "x.yaml: line 1: has an alias inside of what it stands for");
}

TEST(Yaml, DepthIsLimited) {
    EXPECT_EQ(refusal(std::string(65, '[') + std::string(65, ']')), "x.yaml: line 1: is nested too deeply");
    EXPECT_TRUE(parse_yaml(std::string(64, '[') + std::string(64, ']'), "x.yaml"));
    std::string dashes;
    for (int i = 0; i < 200'000; ++i)
        dashes += "- ";
    EXPECT_EQ(refusal(dashes), "x.yaml: line 1: is nested too deeply");
    for (const char bracket : {'[', '{'})
        EXPECT_FALSE(parse_yaml(std::string(200'000, bracket), "x.yaml"));
}

TEST(Yaml, AKeyTwiceOrNoTextIsRefused) {
    EXPECT_EQ(refusal("a: 1\na: 2\n"), "x.yaml: line 2: has the key 'a' twice in one place");
    EXPECT_EQ(refusal("b: {a: 1, a: 2}\n"), "x.yaml: line 1: has the key 'a' twice in one place");
    for (const char* key : {"[1]", "{a: b}", "~", "*x"})
        EXPECT_EQ(refusal("a: &x b\n" + std::string(key) + " : 2\n"),
                  "x.yaml: line 2: has a key that is no text");
}

TEST(Yaml, AMistakeHasItsLine) {
    EXPECT_EQ(refusal("a: 1\nb: [\n").substr(0, 13), "x.yaml: line ");
    EXPECT_EQ(refusal("a: 1\n\tb: 2\n").substr(0, 14), "x.yaml: line 2");
}

TEST(Yaml, NothingIsNull) {
    EXPECT_EQ(parsed(""), Json());
    EXPECT_EQ(parsed("# nothing\n"), Json());
}

} // namespace
} // namespace gpuhost::runtime
