// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/layout.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl::dashboard {
namespace {

using Wanted = std::array<std::size_t, pane_count>;

std::size_t rows_of_pane(const std::array<Rect, pane_count>& rects, Pane pane) {
    return rects.at(static_cast<std::size_t>(pane)).rows;
}

/// Checks that panes and the lines between them fill the terminal, and that no two panes overlap.
void expect_filled(const Size& size, std::size_t top, const Wanted& wanted) {
    std::vector<std::vector<int>> cells(size.rows, std::vector<int>(size.columns));
    for (const Rect& rect : layout(size, top, wanted))
        for (std::size_t row = rect.row; row < rect.row + rect.rows; ++row)
            for (std::size_t column = rect.column - (rect.column > 0 ? 1 : 0);
                 column < rect.column + rect.columns; ++column)
                ++cells.at(row).at(column);
    for (std::size_t row = 0; row < size.rows; ++row)
        for (const int cell : cells[row])
            ASSERT_EQ(cell, row >= top && row + 1 < size.rows ? 1 : 0) << "row " << row;
}

TEST(DashboardLayout, SmallTerminalsDoNotFit) {
    EXPECT_TRUE(fits({24, 80}));
    EXPECT_FALSE(fits({23, 80}));
    EXPECT_FALSE(fits({24, 79}));
}

TEST(DashboardLayout, PanesFillTheTerminal) {
    for (const Size& size : {Size{24, 80}, Size{40, 120}, Size{50, 151}, Size{200, 500}})
        for (const std::size_t top : {std::size_t{1}, std::size_t{3}})
            for (const Wanted& wanted : {Wanted{}, Wanted{3, 8, 5, 9, 4, 2, 7, 1000}, Wanted{1000, 1000}})
                expect_filled(size, top, wanted);
}

TEST(DashboardLayout, ContentIsNarrowerThanThePane) {
    for (const std::size_t columns : {80U, 150U}) {
        const auto rects = layout({24, columns}, 1, {});
        const auto widths = pane_columns(columns);
        for (std::size_t i = 0; i < pane_count; ++i)
            EXPECT_EQ(widths.at(i) + 1, rects.at(i).columns);
    }
}

TEST(DashboardLayout, EachPaneHasTwoLines) {
    for (const Rect& rect : layout({24, 80}, 3, {0, 0, 0, 100, 0, 0, 0, 100}))
        EXPECT_GE(rect.rows, 3U);
}

TEST(DashboardLayout, ShortPanesLeaveRowsToOthers) {
    const auto rects = layout({24, 80}, 1, {2, 2, 9, 3, 3, 1, 1, 100});
    EXPECT_EQ(rows_of_pane(rects, Pane::Host), 3U);
    EXPECT_EQ(rows_of_pane(rects, Pane::Runtimes), 4U);
    EXPECT_EQ(rows_of_pane(rects, Pane::Driver), 8U);
    EXPECT_EQ(rows_of_pane(rects, Pane::Operations), 7U);
}

TEST(DashboardLayout, WideTerminalHasThreeColumns) {
    const auto rects = layout({40, 160}, 1, {});
    EXPECT_EQ(rects[0].row, rects[2].row);
    EXPECT_GT(rects[7].columns, rects[6].columns);
}

} // namespace
} // namespace gpuhost::ctl::dashboard
