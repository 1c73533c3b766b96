// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/layout.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace gpuhost::ctl::dashboard {
namespace {

constexpr std::size_t three_columns_from = 150; ///< width of a terminal that has three panes side by side
constexpr std::size_t least_lines = 2;          ///< of a pane's content

struct Cell {
    Pane pane;
    std::size_t share; ///< of the width, relative to the other panes in the same row
};
using Grid = std::vector<std::vector<Cell>>;

const Grid& grid_of(std::size_t columns) {
    static const Grid narrow{{{Pane::Host, 1}, {Pane::Gpus, 1}},
                             {{Pane::Driver, 1}, {Pane::Operation, 1}},
                             {{Pane::Runtimes, 1}, {Pane::Images, 1}},
                             {{Pane::Cluster, 1}, {Pane::Operations, 1}}};
    static const Grid wide{{{Pane::Host, 1}, {Pane::Gpus, 1}, {Pane::Driver, 1}},
                           {{Pane::Operation, 1}, {Pane::Runtimes, 1}, {Pane::Images, 1}},
                           {{Pane::Cluster, 1}, {Pane::Operations, 2}}};
    return columns < three_columns_from ? narrow : wide;
}

/// Divides a row of panes. Calls `use(pane, column, columns)` for each.
template <class Use>
void divide(const std::vector<Cell>& row, std::size_t columns, Use use) {
    std::size_t shares = 0;
    for (const Cell& cell : row)
        shares += cell.share;
    std::size_t before = 0;
    std::size_t column = 0;
    for (const Cell& cell : row) {
        before += cell.share;
        const bool is_last = before == shares;
        const std::size_t end = columns * before / shares;
        use(cell.pane, column, end - column - (is_last ? 0 : 1)); // 1: the line between two panes
        column = end;
    }
}

/// Distributes `rows`: first each pane row's minimum, then one line at a time to the shortest that wants
/// more; the rest goes to the last, which has the operations.
std::vector<std::size_t> heights(const std::vector<std::size_t>& wanted, std::size_t rows) {
    std::vector<std::size_t> heights(wanted.size(), least_lines);
    const std::size_t least = least_lines * wanted.size();
    for (std::size_t left = rows - std::min(rows, least); left > 0; --left) {
        std::size_t next = wanted.size();
        for (std::size_t i = 0; i < wanted.size(); ++i)
            if (heights[i] < wanted[i] && (next == wanted.size() || heights[i] < heights[next]))
                next = i;
        ++heights[std::min(next, wanted.size() - 1)];
    }
    return heights;
}

} // namespace

bool fits(const Size& size) {
    return size.rows >= least_rows && size.columns >= least_columns;
}

std::array<std::size_t, pane_count> pane_columns(std::size_t columns) {
    std::array<std::size_t, pane_count> widths{};
    for (const auto& row : grid_of(columns))
        divide(row, columns, [&](Pane pane, std::size_t, std::size_t width) {
            widths.at(static_cast<std::size_t>(pane)) = width - 1;
        });
    return widths;
}

std::array<Rect, pane_count> layout(const Size& size, std::size_t top,
                                    const std::array<std::size_t, pane_count>& wanted) {
    const Grid& grid = grid_of(size.columns);
    std::vector<std::size_t> most;
    for (const auto& row : grid) {
        most.push_back(0);
        for (const Cell& cell : row)
            most.back() = std::max(most.back(), wanted.at(static_cast<std::size_t>(cell.pane)));
    }
    const std::size_t taken = top + 1 + grid.size(); // with the titles and the line of keys
    const auto content = heights(most, size.rows - std::min(size.rows, taken));
    std::array<Rect, pane_count> rects{};
    std::size_t at = top;
    for (std::size_t i = 0; i < grid.size(); ++i) {
        divide(grid[i], size.columns, [&](Pane pane, std::size_t column, std::size_t columns) {
            rects.at(static_cast<std::size_t>(pane)) = {at, column, content[i] + 1, columns};
        });
        at += content[i] + 1;
    }
    return rects;
}

} // namespace gpuhost::ctl::dashboard
