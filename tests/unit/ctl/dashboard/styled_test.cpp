// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/styled.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl::dashboard {
namespace {

constexpr Screen colours{true, true, 80, 24};

TEST(Styled, PaintedTextBecomesSpans) {
    const std::string text = "a " + colours.paint(Style::Bad, "b") + " c\n" + colours.paint(Style::Dim, "d");
    const auto lines = styled_lines(text);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], (Line{{"a "}, {"b", Style::Bad}, {" c"}}));
    EXPECT_EQ(lines[1], (Line{{"d", Style::Dim}}));
    EXPECT_EQ(painted(colours, lines[0]), text.substr(0, text.find('\n')));
    EXPECT_EQ(painted({}, lines[0]), "a b c");
}

TEST(Styled, StyleContinuesOnNextLine) {
    const auto lines = styled_lines(colours.paint(Style::Good, "a\nb") + "c");
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[1], (Line{{"b", Style::Good}, {"c"}}));
}

TEST(Styled, OtherControlCharactersAreReplaced) {
    const auto lines = styled_lines("\033[2J\a\033]0;x\007\u202e\033[31");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(painted({}, lines[0]), "?[2J??]0;x???[31");
}

TEST(Styled, FittedLineHasExactWidth) {
    const Line line{{"driver "}, {"550 → 560", Style::Bold}};
    EXPECT_EQ(painted({}, fitted(line, 20)), "driver 550 → 560    ");
    EXPECT_EQ(painted({}, fitted(line, 16)), "driver 550 → 560");
    EXPECT_EQ(painted({}, fitted(line, 12)), "driver 550 …");
    EXPECT_EQ(painted({}, fitted(line, 7)), "driver…");
    EXPECT_EQ(painted({}, fitted(line, 0)), "");
    EXPECT_EQ(width_of(fitted({{"日本語"}}, 4)), 4U) << "a wide character does not fit the last column";
}

TEST(Styled, AsciiKeepsTheWidth) {
    EXPECT_EQ(in_ascii("─┼─ 550 → 560 … é日"), "-+- 550 > 560 ~ ???");
    EXPECT_EQ(in_ascii("\xc3"), "?");
}

} // namespace
} // namespace gpuhost::ctl::dashboard
