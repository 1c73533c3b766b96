// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/base/yaml.hpp"

#include <gtest/gtest.h>

namespace gpuhost::base {
namespace {

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

TEST(Yaml, PlainScalarsHaveTypesAndQuotedAreStrings) {
    EXPECT_EQ(
        parsed("[0, '0', \"0\", -1, 0666, 0o666, 0x1ff, 0b11, 08, true, 'true', null, ~, '', 0.5.0, a b]"),
        Json::parse(
            R"([0, "0", "0", -1, 438, 438, 511, 3, "08", true, "true", null, null, "", "0.5.0", "a b"])"));
    EXPECT_EQ(
        parsed("[18446744073709551615, 18446744073709551616, -9223372036854775808, .5, yes, TRUE]"),
        Json::parse(
            R"([18446744073709551615, "18446744073709551616", "-9223372036854775808", ".5", "yes", true])"));
}

TEST(Yaml, MergedMapsAreRefused) {
    EXPECT_EQ(refusal("a: &a {x: 1}\nb: {<<: *a}\n"),
              "x.yaml: line 2: merges maps with '<<', which is not supported");
    EXPECT_EQ(parsed("{'<<': 1, a: <<}"), Json::parse(R"({"<<": 1, "a": "<<"})"));
}

TEST(Yaml, InvalidUtf8IsRefused) {
    for (const char* text : {"a: \xff", "a: \x01", "a: \xc3", "a: \x7f",
                             "\xff\xfe"
                             "a"})
        EXPECT_EQ(refusal(text), "x.yaml: is not UTF-8 text");
    EXPECT_EQ(parsed("a: \xc3\xa4\r\nb: \"\\u00e4\\0\"\n"), Json::parse(R"({"a": "ä", "b": "ä\u0000"})"));
}

TEST(Yaml, TagsExceptStrAreRefused) {
    for (const char* tag : {"!!int", "!!binary", "!mine", "!!bool"})
        EXPECT_NE(refusal("a: " + std::string(tag) + " '1'").find("', which is not supported"),
                  std::string::npos);
    for (const char* text : {"a: !mine {b: 1}", "a: !mine [1]", "a: !!set {b: null}"})
        EXPECT_NE(refusal(text).find("', which is not supported"), std::string::npos) << text;
    EXPECT_EQ(parsed("a: !!str 1"), Json::parse(R"({"a": "1"})"));
}

TEST(Yaml, JsonIsYaml) {
    const std::string text = "{\n\t\"a\": [1, {\"b\": \"2\\/3\"}],\n\t\"c\": {}, \"d\": \"no\"\n}\n";
    EXPECT_EQ(parsed(text), Json::parse(text));
}

TEST(Yaml, AliasIsReplacedByItsAnchor) {
    EXPECT_EQ(parsed("a: &x [1]\nb: *x\n"), Json::parse(R"({"a": [1], "b": [1]})"));
}

/// Returns some levels of nested lists with `fan` aliases each.
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

TEST(Yaml, AliasesThatExpandToManyValuesAreRefused) {
    EXPECT_EQ(refusal(bomb("x", 10)), "x.yaml: line 6: expands to too much data");
    EXPECT_EQ(parsed(bomb("x", 2))["a8"].dump().size(), 256 * 3 + 255 + 2 * 255U);
}

TEST(Yaml, AliasesThatExpandToLongTextAreRefused) {
    EXPECT_EQ(refusal(bomb(std::string(100'000, 'x'), 4)), "x.yaml: line 3: expands to too much data");
}

TEST(Yaml, NestedAnchorsOfALongTextAreRefused) {
    std::string nested;
    for (int i = 0; i < 40; ++i)
        nested += "&a" + std::to_string(i) + " [";
    EXPECT_EQ(refusal(nested + std::string(500'000, 'x') + std::string(40, ']')),
              "x.yaml: line 1: expands to too much data");
}

TEST(Yaml, MegabyteWithoutAliasesIsAccepted) {
    std::string list;
    while (list.size() < 1'000'000)
        list += "- /usr/lib/libcuda.so.550.163.01\n";
    EXPECT_EQ(parsed(list).size(), 30'304U);
}

TEST(Yaml, AliasInsideItsAnchorIsRefused) {
    EXPECT_EQ(refusal("&a [*a]"), "x.yaml: line 1: has an alias inside its own anchor");
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

TEST(Yaml, DuplicateAndNonTextKeysAreRefused) {
    EXPECT_EQ(refusal("a: 1\na: 2\n"), "x.yaml: line 2: has the key 'a' twice in one map");
    EXPECT_EQ(refusal("b: {a: 1, a: 2}\n"), "x.yaml: line 1: has the key 'a' twice in one map");
    EXPECT_EQ(refusal("{\"a\\nb\": 1, \"a\\nb\": 2}\n"),
              "x.yaml: line 1: has the key 'a?b' twice in one map");
    for (const char* key : {"[1]", "{a: b}", "~", "*x"})
        EXPECT_EQ(refusal("a: &x b\n" + std::string(key) + " : 2\n"),
                  "x.yaml: line 2: has a key that is not a string");
}

TEST(Yaml, SyntaxErrorNamesItsLine) {
    EXPECT_EQ(refusal("a: 1\nb: [\n").substr(0, 13), "x.yaml: line ");
    EXPECT_EQ(refusal("a: 1\n\tb: 2\n").substr(0, 14), "x.yaml: line 2");
}

TEST(Yaml, EmptyDocumentIsNull) {
    EXPECT_EQ(parsed(""), Json());
    EXPECT_EQ(parsed("# nothing\n"), Json());
}

TEST(Yaml, DocumentsHaveTheLinesOfTheirValues) {
    const auto read = parse_yaml_documents("# x\na:\n  b: [1,\n  2]\n---\n---\n- &x {c: 3}\n- *x\n", "x");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 2U) << "the empty document is omitted";
    using Lines = std::map<std::string, std::size_t, std::less<>>;
    EXPECT_EQ(read->front().lines, (Lines{{"", 2}, {"a", 2}, {"a.b", 3}, {"a.b[0]", 3}, {"a.b[1]", 4}}));
    EXPECT_EQ(read->back().value, Json::parse(R"([{"c": 3}, {"c": 3}])"));
    EXPECT_EQ(read->back().lines, (Lines{{"", 7}, {"[0]", 7}, {"[0].c", 7}, {"[1]", 8}}));
}

TEST(Yaml, DocumentsShareTheLimitOfValues) {
    std::string text = "{}\n";
    for (int i = 0; i < 100; ++i)
        text += "---\n" + bomb("x", 3);
    const auto read = parse_yaml_documents(text, "x.yaml");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("expands to too much data"), std::string::npos)
        << read.error().message;
    EXPECT_TRUE(parse_yaml_documents("{}\n---\n" + bomb("x", 3), "x.yaml"));
}

TEST(Yaml, LongPathsHaveNoLines) {
    const std::string key(200, 'k');
    const auto read = parse_yaml_documents(key + ": {" + key + ": {a: 1}, b: 2}\n", "x");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->front().lines.size(), 3U) << "the document, the outer key and b";
}

} // namespace
} // namespace gpuhost::base
