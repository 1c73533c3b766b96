// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/contains.hpp"
#include "daemon/base/error.hpp"
#include "daemon/base/ini.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <cerrno>
#include <set>

#include <gtest/gtest.h>

namespace gpuhost::base {
namespace {

using std::chrono::milliseconds;

TEST(Parse, RecognizesUtf8) {
    for (const std::string_view good :
         {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(is_utf8(good)) << good;
    for (const std::string_view bad : {"\xe9", "Cl\xe9=", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                                       "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\x80"})
        EXPECT_FALSE(is_utf8(bad)) << bad;
}

TEST(Ini, ReportsKeyThatIsNotUtf8) {
    const IniFile file = parse_ini("[A]\nCl\xe9=1\nB=\xe9\n");
    ASSERT_EQ(file.problems.size(), 1U);
    EXPECT_EQ(file.problems[0].line, 2U);
    EXPECT_EQ(file.entries.size(), 1U);
}

TEST(Ini, SkipsEntriesBelowInvalidHeader) {
    for (const std::string header : {"[B", "[Caf\xe9]", "[]"}) {
        const IniFile file = parse_ini("[A]\nx=1\n" + header + "\ny=2\n[C]\nz=3\n");
        ASSERT_EQ(file.problems.size(), 1U) << header;
        ASSERT_EQ(file.entries.size(), 2U) << header;
        EXPECT_EQ(file.entries[1].section, "C") << header;
    }
}

TEST(Error, TableIsOneToOne) {
    std::set<std::string_view> names;
    std::set<std::string_view> dbus_names;
    std::set<int> exit_codes;
    for (const ErrcInfo& row : error_table()) {
        names.insert(row.name);
        dbus_names.insert(row.dbus_name);
        exit_codes.insert(row.exit_code);
        EXPECT_EQ(errc_from_name(row.name), row.code);
        EXPECT_EQ(errc_from_dbus_name(row.dbus_name), row.code);
        EXPECT_EQ(&info(row.code), &row);
    }
    EXPECT_EQ(names.size(), error_table().size());
    EXPECT_EQ(dbus_names.size(), error_table().size());
    EXPECT_EQ(exit_codes.size(), error_table().size());
    EXPECT_EQ(exit_codes.count(0), 0U);
    EXPECT_EQ(exit_codes.count(77), 0U);
}

TEST(Error, ContextKeepsCodeAndHint) {
    const Error error = Error{Errc::NoSpace, "disk full", "make room"}.context("importing 'x'");
    EXPECT_EQ(error.code, Errc::NoSpace);
    EXPECT_EQ(error.message, "importing 'x': disk full");
    EXPECT_EQ(error.hint, "make room");
}

TEST(Error, JsonRoundTripKeepsCodeMessageAndHint) {
    const Error error = error_from_json(to_json(Error{Errc::InUse, "held", "stop it"}));
    EXPECT_EQ(error.code, Errc::InUse);
    EXPECT_EQ(error.message, "held");
    EXPECT_EQ(error.hint, "stop it");
}

TEST(Parse, SizeAcceptsUnitsAndRefusesOverflow) {
    EXPECT_EQ(parse_size("512"), 512U);
    EXPECT_EQ(parse_size("64K"), 65'536U);
    EXPECT_EQ(parse_size(" 4095M "), std::uint64_t{4095} << 20U);
    EXPECT_EQ(parse_size("16777215T"), std::uint64_t{16'777'215} << 40U);
    for (const std::string_view bad :
         {"", "K", "1.5G", "-1M", "4 GB", "4m", "16777216T", "99999999999999999999"})
        EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(Parse, SpanAcceptsUnitsAndRefusesOverflow) {
    EXPECT_EQ(parse_span("90"), milliseconds(90'000));
    EXPECT_EQ(parse_span("1min 30s"), milliseconds(90'000));
    EXPECT_EQ(parse_span("1min30s"), milliseconds(90'000));
    EXPECT_EQ(parse_span("500ms"), milliseconds(500));
    EXPECT_EQ(parse_span("0"), milliseconds(0));
    for (const std::string_view bad :
         {"", "s", "5 parsecs", "-1", "1.5s", "99999999999999999999", "18446744073709551615d"})
        EXPECT_FALSE(parse_span(bad)) << bad;
}

TEST(Parse, BooleanAcceptsYesAndOff) {
    EXPECT_EQ(parse_bool("Yes"), true);
    EXPECT_EQ(parse_bool("off"), false);
    EXPECT_EQ(parse_bool("perhaps"), std::nullopt);
}

TEST(Parse, NumberRefusesSignsAndOverflow) {
    EXPECT_EQ(parse_uint("42"), 42U);
    EXPECT_EQ(parse_uint("ff", 16), 255U);
    for (const std::string_view bad : {"", "-1", "4x", " 4", "18446744073709551616"})
        EXPECT_FALSE(parse_uint(bad)) << bad;
}

TEST(Parse, DriverVersionHasTwoOrThreeNumbers) {
    EXPECT_TRUE(is_driver_version("535.261.03"));
    EXPECT_TRUE(is_driver_version("550.54"));
    for (const std::string_view bad :
         {"", "535", "535.", ".1", "535/../1.2", "5.3.5.2.6", "535.a", "535..03"})
        EXPECT_FALSE(is_driver_version(bad)) << bad;
}

TEST(Parse, ComparesVersionsByNumbers) {
    EXPECT_LT(compare_numbers("535.261.03", "550.54.14"), 0);
    EXPECT_LT(compare_numbers("550.54.14", "550.163.01"), 0);
    EXPECT_GT(compare_numbers("1000.1", "999.9"), 0);
    EXPECT_EQ(compare_numbers("550.163.01", "550.163.1"), 0);
    EXPECT_LT(compare_numbers("550.163", "550.163.01"), 0);
}

TEST(Parse, KernelReleaseRefusesPathsAndSpaces) {
    EXPECT_TRUE(is_kernel_release("6.1.0-50-amd64"));
    EXPECT_TRUE(is_kernel_release("5.14.0-503.el9.x86_64+rt"));
    for (const std::string_view bad : {"", "../6.1", "6.1/..", "x6.1", "6.1 0"})
        EXPECT_FALSE(is_kernel_release(bad)) << bad;
}

TEST(Parse, SplitsJoinsAndTrimsText) {
    EXPECT_EQ(split_words("  a\tb \n"), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
    EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
    EXPECT_EQ(trim(" \t x y \n"), "x y");
    EXPECT_EQ(last_line(" a\n b c\n\n"), " b c");
    EXPECT_EQ(last_line("a\n"), "a");
    EXPECT_EQ(last_line(" \n"), "");
}

TEST(Contains, ComparesEachElement) {
    const std::vector<std::string> words{"a", "b"};
    EXPECT_TRUE(contains(words, "b"));
    EXPECT_FALSE(contains(words, std::string_view("c")));
    EXPECT_FALSE(contains(std::vector<int>(), 1));
}

TEST(Ini, ReadsSectionsCommentsAndContinuations) {
    const IniFile file =
        parse_ini("# comment\n[Driver]\nUnits=a \\\n  ; between\n  b\n\nVersion = 550.163.01\n");
    ASSERT_EQ(file.entries.size(), 2U);
    EXPECT_TRUE(file.problems.empty());
    EXPECT_EQ(file.entries[0].value, "a b");
    EXPECT_EQ(file.entries[0].line, 3U);
    EXPECT_EQ(file.entries[1].key, "Version");
    EXPECT_EQ(file.entries[1].value, "550.163.01");
    EXPECT_EQ(file.entries[1].line, 7U);
}

TEST(Ini, RepeatedSectionsStaySeparate) {
    const IniFile file = parse_ini("[A]\n[B]\nx=1\n[A]\ny=2\nz=3\n[A\n");
    ASSERT_EQ(file.sections.size(), 3U) << "a section without keys counts";
    EXPECT_EQ(file.sections[0].name, "A");
    EXPECT_TRUE(file.entries_of(file.sections[0]).empty());
    EXPECT_EQ(file.sections[2].line, 4U);
    const auto last = file.entries_of(file.sections[2]);
    ASSERT_EQ(last.size(), 2U);
    EXPECT_EQ(last[0].key, "y");
    EXPECT_EQ(last[1].section, "A");
}

TEST(Ini, FinalBackslashAddsNoLine) {
    const IniFile file = parse_ini("[Driver]\nA=1\n\\");
    EXPECT_TRUE(file.problems.empty());
    EXPECT_EQ(file.entries.size(), 1U);
}

TEST(Ini, BadLinesDoNotHideGoodOnes) {
    const IniFile file = parse_ini("early=1\n[Driver\n[Driver]\nnonsense\n=x\nKey=value\n");
    ASSERT_EQ(file.entries.size(), 1U);
    EXPECT_EQ(file.entries[0].key, "Key");
    ASSERT_EQ(file.problems.size(), 4U);
    EXPECT_EQ(file.problems[0].text, "key before the first [Section]");
    EXPECT_EQ(file.problems[1].line, 2U);
    EXPECT_EQ(file.problems[1].text, "section header without ']'");
}

TEST(Json, RefusesMalformedAndDeepInput) {
    EXPECT_FALSE(parse_json("{", "x"));
    EXPECT_FALSE(parse_json("", "x"));
    EXPECT_FALSE(parse_json(std::string(65, '[') + std::string(65, ']'), "x"));
    EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']'), "x"));
    EXPECT_TRUE(parse_json("\"[[[[ \\\" [[[[\"", "x"));
}

TEST(Json, GettersNameTheKey) {
    const Json object = parse_json(R"({"n": 1, "s": "t", "l": ["a", 2]})", "x").value();
    EXPECT_EQ(get_int(object, "n").value(), 1);
    EXPECT_EQ(get_string(object, "s").value(), "t");
    EXPECT_EQ(get_string(object, "n").error().message, "key 'n': missing or not a string");
    EXPECT_FALSE(get_strings(object, "l"));
    EXPECT_FALSE(get_bool(object, "none"));
    EXPECT_EQ(string_or(Json(5), "s", "fallback"), "fallback");
    EXPECT_TRUE(member(object, "none").is_null());
    EXPECT_EQ(list_of(object, "l").size(), 2U);
    EXPECT_EQ(list_of(object, "s"), Json::array());
}

TEST(Json, DumpReplacesInvalidUtf8) {
    EXPECT_NO_THROW((void)dump(Json{{"k", "\xff"}}));
}

TEST(JsonListTest, PassesItemsToTheCallbackAndKeepsNone) {
    std::vector<std::string> taken;
    const auto take = [&](const Json& value) -> Result<void> {
        taken.push_back(dump(value));
        return taken.size() < 3 ? Result<void>() : fail(Errc::Refused, "enough");
    };
    const auto rest =
        parse_json_list(R"({"a":1,"list":[{"x":[{"y":2}]},{}],"other":[{"z":3}]})", "text", "list", take);
    ASSERT_TRUE(rest) << rest.error().message;
    EXPECT_EQ(taken, (std::vector<std::string>{R"({"x":[{"y":2}]})", "{}"}));
    EXPECT_EQ(dump(*rest), R"({"a":1,"list":[],"other":[{"z":3}]})");
    EXPECT_EQ(parse_json_list(R"({"list":[{},{}]})", "text", "list", take).error().code, Errc::Refused);
    EXPECT_EQ(parse_json_list(R"({"list":[{}})", "text", "list", take).error().code, Errc::BadContent);
    EXPECT_EQ(
        parse_json_list(R"({"deep":{"list":[{}]},"list":[7]})", "text", "list", take).value()["list"].size(),
        1U)
        << "only objects are items, and only in the named list";
}

} // namespace
} // namespace gpuhost::base
