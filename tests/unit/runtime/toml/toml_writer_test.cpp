// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toml/toml.hpp"
#include "daemon/runtime/toml/toml_writer.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Json;

void expect_read_back(const Json& document) {
    const std::string text = to_toml(document);
    const auto again = parse_toml(text, "x");
    ASSERT_TRUE(again) << again.error().message << "\n" << text;
    EXPECT_EQ(base::dump(*again), base::dump(document)) << text; // distinguishes 1 from 1.0
    EXPECT_EQ(*again, document) << text;
}

TEST(TomlWriter, PlainValuesPrecedeTables) {
    const Json document{
        {"version", 2},
        {"imports", {"a", "b"}},
        {"plugins",
         {{"io.containerd.grpc.v1.cri",
           {{"enable_cdi", true},
            {"containerd", {{"runtimes", {{"nvidia", {{"options", {{"BinaryName", "/x"}}}}}}}}}}},
          {"opt", {{"path", "/y"}}}}}};
    EXPECT_EQ(to_toml(document), R"(imports = ["a", "b"]
version = 2

[plugins."io.containerd.grpc.v1.cri"]
enable_cdi = true

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
BinaryName = "/x"

[plugins.opt]
path = "/y"
)");
    expect_read_back(document);
}

TEST(TomlWriter, EmptyAndNestedTablesAreKept) {
    EXPECT_EQ(to_toml({{"a", Json::object()}}), "[a]\n");
    EXPECT_EQ(to_toml({{"a", {{{"b", 1}}, Json::object()}}}), "[[a]]\nb = 1\n\n[[a]]\n");
    EXPECT_EQ(to_toml(Json::object()), "");
    EXPECT_EQ(to_toml(Json::array()), "");
    expect_read_back(
        {{"a", {{{"b", {{"c", {{{"d", 1}}, {{"e", Json::object()}}}}}}}, {{"b", {{"c", Json::array()}}}}}}});
    expect_read_back({{"a", {1, {{"b", {{"c", 2}}}}, {Json::object(), Json::array()}}}});
    expect_read_back({{"a", {{{{"b", 1}}}}}});
}

TEST(TomlWriter, NullIsOmitted) {
    const Json document{
        {"a", nullptr}, {"b", {{"c", nullptr}}}, {"d", {1, nullptr}}, {"e", {nullptr, {{"f", nullptr}}}}};
    EXPECT_EQ(to_toml(document), "d = [1]\ne = [{}]\n\n[b]\n");
}

TEST(TomlWriter, StringsAndKeysAreQuotedIfNeeded) {
    std::string all;
    for (char c = 0; c < 0x7f; ++c)
        all += c;
    all += "\x7f\u00e9\u2028\U0001F600";
    expect_read_back({{"a", all}, {all, {{all, {all, all}}}}, {"", {{"", 1}}}});
    EXPECT_EQ(toml_string("a\"b\\\n\x01\x7f"), R"("a\"b\\\n\u0001\u007F")");
    EXPECT_EQ(to_toml({{"a-b_1", 1}}), "a-b_1 = 1\n");
    EXPECT_EQ(to_toml({{"a.b", 1}, {"\u00e9", 2}}), "\"a.b\" = 1\n\"\u00e9\" = 2\n");
}

TEST(TomlWriter, NumbersKeepTypeAndPrecision) {
    expect_read_back({{"a", 1.0},
                      {"b", 1e300},
                      {"c", -0.1},
                      {"d", std::numeric_limits<double>::denorm_min()},
                      {"e", std::numeric_limits<double>::max()},
                      {"f", std::numeric_limits<std::int64_t>::min()},
                      {"g", std::numeric_limits<std::int64_t>::max()},
                      {"h", 1e22},
                      {"i", 5e-5}});
    EXPECT_EQ(to_toml({{"a", INFINITY}, {"b", -INFINITY}, {"c", NAN}}), "a = inf\nb = -inf\nc = nan\n");
}

TEST(TomlWriter, LongListsHaveSeveralLines) {
    Json list = Json::array();
    for (int i = 0; i < 20'000; ++i)
        list.push_back("element " + std::to_string(i));
    expect_read_back({{"a", list}, {"b", {{{"c", list}}, 1}}});
}

class Random {
  public:
    explicit Random(unsigned seed) : engine_(seed) {}

    Json table(unsigned depth) {
        Json made = Json::object();
        for (unsigned left = below(5); left > 0; --left)
            made[key()] = value(depth);
        return made;
    }

  private:
    unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(engine_); }

    std::string key() {
        static const std::vector<std::string> keys{"a",      "b-c", "d.e", "",    "\"", "'",
                                                   "\u00e9", "#",   "1",   "[x]", " ",  "\n"};
        return keys[below(static_cast<unsigned>(keys.size()))];
    }

    Json list(unsigned depth) {
        Json made = Json::array();
        const bool is_of_tables = below(2) == 0;
        for (unsigned left = below(4); left > 0; --left)
            made.push_back(is_of_tables ? table(depth - 1) : value(depth - 1));
        return made;
    }

    Json value(unsigned depth) {
        switch (below(depth == 0 ? 4 : 8)) {
        case 0:
            return key();
        case 1:
            return static_cast<std::int64_t>(engine_()) << below(32);
        case 2:
            return std::ldexp(static_cast<double>(engine_()), static_cast<int>(below(200)) - 100);
        case 3:
            return below(2) == 0;
        case 4:
        case 5:
            return list(depth);
        default:
            return table(depth - 1);
        }
    }

    std::mt19937 engine_;
};

TEST(TomlWriter, RandomDocumentsAreReadBack) {
    for (unsigned seed = 0; seed < 3'000 && !HasFailure(); ++seed)
        expect_read_back(Random(seed).table(seed % 7));
}

} // namespace
} // namespace gpuhost::runtime
