// SPDX-License-Identifier: Apache-2.0
// One of the two output streams and what it can show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

enum class Style { Plain, Bold, Dim, Good, Warn, Bad };

/// A value, so that renderers are pure functions that tests call with any width and with or without colour.
struct Screen {
    bool terminal = false;
    bool colour = false;
    std::size_t columns = 80;
    std::size_t rows = 24;

    [[nodiscard]] std::string paint(Style style, std::string_view text) const;
};

/// Colour only on a terminal that has it and without $NO_COLOR (no-color.org). $COLUMNS and $LINES stand in where the
/// terminal does not know its size.
[[nodiscard]] Screen screen_of(int fd);

} // namespace gpuhost::ctl
