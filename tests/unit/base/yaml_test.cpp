// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/base/yaml.hpp"

#include <limits>
#include <utility>

#include <gtest/gtest.h>

namespace gpuhost::base {
namespace {

constexpr auto as_runtime = YamlReader::ContainerRuntime;
constexpr auto as_kubectl = YamlReader::Kubectl;

Json parsed(const std::string& text, YamlReader reader = as_runtime) {
    const auto value = parse_yaml(text, "x.yaml", reader);
    EXPECT_TRUE(value) << value.error().message;
    return value ? *value : Json("not parsed");
}

std::string refusal(const std::string& text, YamlReader reader = as_runtime) {
    const auto value = parse_yaml(text, "x.yaml", reader);
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

TEST(Yaml, KubectlReadsBooleansAsYaml11) {
    for (const char* word : {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"})
        EXPECT_EQ(parsed(word, as_kubectl), Json(true)) << word;
    for (const char* word : {"n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"})
        EXPECT_EQ(parsed(word, as_kubectl), Json(false)) << word;
    for (const char* word : {"yES", "oN", "nO", "tRUE", "'y'", "\"no\"", "!!str yes", "|-\n  on"})
        EXPECT_TRUE(parsed(word, as_kubectl).is_string()) << word;
}

TEST(Yaml, KubectlReadsNumbersAsGo) {
    const std::pair<const char*, Json> rows[] = {
        {"0", 0},
        {"-0", 0},
        {"+5", 5},
        {"1_000", 1000},
        {"0b1", 1},
        {"0B11", 3},
        {"0x1", 1},
        {"0XfF", 255},
        {"-0x10", -16},
        {"010", 8},
        {"0o17", 15},
        {"0O7", 7},
        {"08", 8.0},
        {"1.5", 1.5},
        {".5", .5},
        {"-.5e1", -5.0},
        {"+1.", 1.0},
        {"1e3", 1000.0},
        {"1_0.5", 10.5},
        {"2.E-1", .2},
        {".5_0", .5},
        {"1e-999", 0.0},
        {"18446744073709551615", 18446744073709551615U},
        {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
        {"18446744073709551616", 18446744073709551616.0},
    };
    for (const auto& [text, number] : rows) {
        EXPECT_EQ(parsed(text, as_kubectl), number) << text;
        EXPECT_EQ(parsed(text, as_kubectl).is_number_float(), number.is_number_float()) << text;
    }
    for (const char* text : {"0x", "0b2", "+-1", "1e", "e1", ".", "._5", ".5_", "1.2.3", "1e999", "0xg", "_1",
                             "<<", "2026-01-02", "1:30", "-inf", "nan", "abc"})
        EXPECT_EQ(parsed(text, as_kubectl), Json(text)) << text;
    for (const char* text : {".inf", "-.INF", "+.Inf", ".nan", ".NaN"})
        EXPECT_NE(refusal(text, as_kubectl).find(", which JSON does not support"), std::string::npos) << text;
}

TEST(Yaml, KubectlConvertsScalarKeysToStrings) {
    EXPECT_EQ(parsed("{y: 1, 0x10: 2, '0x10': 3, -1: 4, a: 5}", as_kubectl),
              Json::parse(R"({"true": 1, "16": 2, "0x10": 3, "-1": 4, "a": 5})"));
    EXPECT_EQ(refusal("{yes: 1, on: 2}", as_kubectl), "x.yaml: line 1: has the key 'true' twice in one map");
    for (const char* key : {"1.5", "18446744073709551615", "~", "[a]", ".inf"})
        EXPECT_EQ(refusal(std::string(key) + " : 1", as_kubectl),
                  "x.yaml: line 1: has a key that is not a string");
    EXPECT_EQ(parsed("{y: 1, 0x10: 2}"), Json::parse(R"({"y": 1, "0x10": 2})"));
}

TEST(Yaml, KubectlMergesKeysInTextOrder) {
    const std::string base = "base: &b {x: 1, y_: 2}\nother: &o {x: 3, z: 4}\nof: ";
    const std::pair<const char*, const char*> rows[] = {
        {"{<<: *b, x: 9}", R"({"x": 9, "y_": 2})"},         {"{x: 9, <<: *b}", R"({"x": 1, "y_": 2})"},
        {"{<<: [*b, *o]}", R"({"x": 1, "y_": 2, "z": 4})"}, {"{<<: [*o, {x: 5}]}", R"({"x": 3, "z": 4})"},
        {"{<<: {x: 7}, <<: *o}", R"({"x": 3, "z": 4})"},    {"{'<<': *b}", R"({"<<": {"x": 1, "y_": 2}})"},
    };
    for (const auto& [text, made] : rows)
        EXPECT_EQ(parsed(base + text, as_kubectl)["of"], Json::parse(made)) << text;
    for (const char* text : {"{<<: 1}", "{<<: }", "{<<: [1]}", "{<<: [[{x: 1}]]}", "{<<: *l}"})
        EXPECT_EQ(refusal("l: &l [{x: 1}]\na: " + std::string(text), as_kubectl),
                  "x.yaml: line 2: has '<<' with a value that is not a map or a list of maps");
    EXPECT_EQ(parsed(base + "{<<: *b}")["of"], Json::parse(R"({"<<": {"x": 1, "y_": 2}})"));
}

TEST(Yaml, KubectlRefusesInvalidUtf8) {
    for (const char* text : {"a: \xff", "a: \x01", "a: \xc3", "a: \x7f",
                             "\xff\xfe"
                             "a"})
        EXPECT_EQ(refusal(text, as_kubectl), "x.yaml: is not UTF-8 text");
    EXPECT_EQ(parsed("a: \xc3\xa4\r\nb: \"\\u00e4\\0\"\n", as_kubectl),
              Json::parse(R"({"a": "ä", "b": "ä\u0000"})"));
}

TEST(Yaml, KubectlRefusesTagsExceptStr) {
    for (const char* tag : {"!!int", "!!binary", "!mine", "!!bool"})
        EXPECT_NE(refusal("a: " + std::string(tag) + " '1'", as_kubectl).find("', which is not supported"),
                  std::string::npos);
    EXPECT_EQ(parsed("a: !!str 1", as_kubectl), Json::parse(R"({"a": "1"})"));
}

TEST(Yaml, JsonIsYaml) {
    const std::string text = "{\n\t\"a\": [1, {\"b\": \"2\\/3\"}],\n\t\"c\": {}, \"d\": \"no\"\n}\n";
    EXPECT_EQ(parsed(text), Json::parse(text));
    EXPECT_EQ(parsed(text, as_kubectl), Json::parse(text));
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
    EXPECT_TRUE(parse_yaml(std::string(64, '[') + std::string(64, ']'), "x.yaml", as_runtime));
    std::string dashes;
    for (int i = 0; i < 200'000; ++i)
        dashes += "- ";
    EXPECT_EQ(refusal(dashes), "x.yaml: line 1: is nested too deeply");
    for (const char bracket : {'[', '{'})
        EXPECT_FALSE(parse_yaml(std::string(200'000, bracket), "x.yaml", as_runtime));
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

} // namespace
} // namespace gpuhost::base
