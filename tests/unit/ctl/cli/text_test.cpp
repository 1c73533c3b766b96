// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/text.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

TEST(Text, WidthCountsColumnsNotBytes) {
    EXPECT_EQ(text_width("plain"), 5U);
    EXPECT_EQ(text_width("a → b"), 5U);
    EXPECT_EQ(text_width("e\u0301"), 1U); // a letter and its combining accent
    EXPECT_EQ(text_width("日本"), 4U);
    EXPECT_EQ(text_width("\xff\xc3"), 2U); // not UTF-8
    EXPECT_EQ(text_width("\xe2\x86"), 2U); // cut off
}

TEST(Text, PadsToColumns) {
    EXPECT_EQ(pad_right("→", 3), "→  ");
    EXPECT_EQ(pad_left("7", 3), "  7");
    EXPECT_EQ(pad_right("long", 2), "long");
}

TEST(Text, ElidesToColumns) {
    EXPECT_EQ(elide("whole", 5), "whole");
    EXPECT_EQ(elide("loading nvidia", 8), "loading…");
    EXPECT_EQ(elide("日本語", 4), "日…"); // a wide character is not split
    EXPECT_EQ(elide("ab", 1), "…");
    EXPECT_EQ(elide("ab", 0), "");
}

TEST(Text, WordsAreQuotedForShells) {
    EXPECT_EQ(shell_quoted("/media/usb/site-1.bundle"), "/media/usb/site-1.bundle");
    EXPECT_EQ(shell_quoted("a;reboot"), "'a;reboot'");
    EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
    EXPECT_EQ(shell_quoted(""), "''");
}

TEST(Text, ControlCharactersAreReplaced) {
    EXPECT_EQ(printable("a\033[2Jb\x7f"), "a?[2Jb?");
    EXPECT_EQ(printable("two\nlines\tand a tab"), "two lines and a tab");
    EXPECT_EQ(printable("\u009b31m"), "?31m"); // the one-character form of ESC [
    EXPECT_EQ(printable("bad \xff byte"), "bad ? byte");
    EXPECT_EQ(printable("535 → 550"), "535 → 550");
    EXPECT_EQ(printable("\xf0\x90\x8d\x88"), "\xf0\x90\x8d\x88");
    for (const char* text : {"\xf5\x80\x80\x80", "\xf4\x90\x80\x80", "\xf0\x82\x82\xac"})
        EXPECT_EQ(printable(text), "????"); // beyond Unicode, or longer than needed
    for (const char* text : {"\xed\xa0\x80", "\xe0\x80\xaf"})
        EXPECT_EQ(printable(text), "???");            // a surrogate, or longer than needed
    EXPECT_EQ(printable("a\u202eb\u2066c"), "a?b?c"); // controls that reorder text
}

TEST(Text, BytesHaveBinaryUnits) {
    EXPECT_EQ(human_bytes(0), "0 B");
    EXPECT_EQ(human_bytes(1023), "1023 B");
    EXPECT_EQ(human_bytes(1536), "1.5 KiB");
    EXPECT_EQ(human_bytes(17U << 20), "17 MiB");
    EXPECT_EQ(human_bytes(5ULL << 40), "5.0 TiB");
}

TEST(Text, SpansHaveUpToTwoUnits) {
    constexpr std::uint64_t s = 1'000'000;
    EXPECT_EQ(human_span(400'000), "0.4 s");
    EXPECT_EQ(human_span(12 * s), "12 s");
    EXPECT_EQ(human_span(125 * s), "2 min 5 s");
    EXPECT_EQ(human_span(3600 * s), "1 h");
    EXPECT_EQ(human_span(90000 * s), "1 day 1 h");
}

TEST(Text, FutureTimesAreJustNow) {
    constexpr std::uint64_t s = 1'000'000;
    EXPECT_EQ(human_ago(100 * s, 220 * s), "2 min ago");
    EXPECT_EQ(human_ago(100 * s, 100 * s), "just now");
    EXPECT_EQ(human_ago(200 * s, 100 * s), "just now"); // the clock was set back
}

TEST(Text, PluralFollowsTheCount) {
    EXPECT_EQ(plural(1, "problem", "problems"), "1 problem");
    EXPECT_EQ(plural(2, "problem", "problems"), "2 problems");
}

} // namespace
} // namespace gpuhost::ctl
