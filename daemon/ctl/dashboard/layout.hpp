// SPDX-License-Identifier: Apache-2.0
// Places the panes on a terminal of a given size. Pure functions.
#pragma once

#include "daemon/ctl/dashboard/model.hpp"

#include <array>
#include <cstddef>

namespace gpuhost::ctl::dashboard {

/// The smallest terminal with panes.
inline constexpr std::size_t least_rows = 24;
inline constexpr std::size_t least_columns = 80;

struct Rect {
    std::size_t row = 0; ///< of the title; the content begins below
    std::size_t column = 0;
    std::size_t rows = 0; ///< with the title
    std::size_t columns = 0;
    bool operator==(const Rect&) const = default;
};

struct Size {
    std::size_t rows = 0;
    std::size_t columns = 0;
    bool operator==(const Size&) const = default;
};

[[nodiscard]] bool fits(const Size& size);

/// Returns the width of each pane's content, which begins one column to the right of the title. It depends
/// only on the width of the terminal.
[[nodiscard]] std::array<std::size_t, pane_count> pane_columns(std::size_t columns);

/// Returns the rectangle of each pane, between `top` rows above and the line of keys below. `wanted` are the
/// numbers of lines that the panes have. One column is left free between panes. The terminal must fit.
[[nodiscard]] std::array<Rect, pane_count> layout(const Size& size, std::size_t top,
                                                  const std::array<std::size_t, pane_count>& wanted);

} // namespace gpuhost::ctl::dashboard
