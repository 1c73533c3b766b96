// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toml/toml.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Json;

std::string problem(std::string_view text) {
    const auto parsed = parse_toml(text, "x.toml");
    return parsed ? "" : parsed.error().message;
}

/// Returns a key with this number of dots.
std::string dotted(std::size_t dots) {
    std::string key = "b";
    for (std::size_t i = 0; i < dots; ++i)
        key += ".b";
    return key;
}

TEST(Toml, ValuesHaveTheirTypes) {
    const auto parsed = parse_toml("version = 2\nimports = [\"a\", 'b']\nf = 1.5\nd = 1979-05-27\n"
                                   "[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_cdi = true\n",
                                   "x");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, (Json{{"version", 2},
                             {"imports", {"a", "b"}},
                             {"f", 1.5},
                             {"d", "1979-05-27"},
                             {"plugins", {{"io.containerd.grpc.v1.cri", {{"enable_cdi", true}}}}}}));
    EXPECT_EQ(*parse_toml("", "x"), Json::object());
}

TEST(Toml, ErrorsNameTheLine) {
    EXPECT_EQ(problem("a = 1\nb = yes\n").substr(0, 15), "x.toml: line 2:");
    EXPECT_NE(problem("a = 1\na = 2\n"), "");
    EXPECT_NE(problem("{{ template \"base\" . }}\n"), ""); // the template of k3s' configuration
    EXPECT_NE(problem("a = \"\xff\"\n"), "");
    EXPECT_EQ(problem("a = 1\n\u00e9 = 1\n"), "x.toml: line 2: has non-ASCII characters outside of strings");
    EXPECT_EQ(problem("a = '\u00e9' # \u00e9\n\"\u00e9\" = 1\n"), "");
    for (const char* cut :
         {"[[", "[[[", "[[\n", "[", "a", "a.", "a = ", "a = {", "a = {b", "a = {,", "[a.", "\""})
        EXPECT_NE(problem(cut), "") << cut;
}

TEST(Toml, NestingIsLimited) {
    const auto nested = [](std::size_t depth) {
        return "a = " + std::string(depth, '[') + std::string(depth, ']');
    };
    EXPECT_EQ(problem(nested(20)), "");
    EXPECT_NE(problem(nested(100'000)), "");
    const std::string key = dotted(2'000);
    EXPECT_EQ(problem("b = 1\n" + key + " = 1"), "x.toml: line 2: is nested too deeply");
    EXPECT_EQ(problem("\"" + key + "\" = '''\n" + key + "''' # " + key), "")
        << "dots in strings do not count";
    EXPECT_EQ(problem("a = \"\"\"x\\\"\"\" " + key + "\"\"\"\nb = '" + key + "'"), "");
}

TEST(Toml, MultilineStringMayEndInQuotes) {
    for (const std::string quotes : {"\"\"\"", "'''"})
        for (const std::size_t own : {0U, 1U, 2U}) {
            const std::string text = quotes + "x" + quotes + quotes.substr(0, own);
            EXPECT_EQ(problem("x = {a = " + text + ", " + dotted(2'000) + " = 1}"),
                      "x.toml: line 1: is nested too deeply")
                << text;
            EXPECT_EQ(problem("x = {a = " + text + ", b = '" + dotted(2'000) + "'}"), "") << text;
            EXPECT_EQ((*parse_toml("a = " + text, "x"))["a"], "x" + quotes.substr(0, own));
        }
}

TEST(Toml, LineLengthAndDotsAreLimited) {
    EXPECT_EQ(problem("x = {a = \"\"\"x\"\"\"\", " + dotted(10'000) + " = 1}"),
              "x.toml: line 1: has more than 4096 dots");
    EXPECT_EQ(problem("a = 1\nb = '" + dotted(5'000) + "'\n"), "x.toml: line 2: has more than 4096 dots");
    EXPECT_EQ(problem("\n# " + std::string(70'000, 'x')), "x.toml: line 2: is longer than 65536 bytes");
    EXPECT_EQ(problem("a = '" + std::string(65'000, 'x') + "'\n"), "");
}

TEST(Toml, MebibyteIsAccepted) {
    std::string text;
    for (int i = 0; text.size() < (1U << 20U) - 40; ++i)
        text += "key" + std::to_string(i) + " = \"value\"\n";
    EXPECT_EQ(problem(text), "");
}

} // namespace
} // namespace gpuhost::runtime
