// SPDX-License-Identifier: Apache-2.0
// Capabilities of an output stream.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

enum class Style { Plain, Bold, Dim, Good, Warn, Bad };

/// The capabilities of an output stream, as a plain value: tests render with any width, with or without
/// colour.
struct Screen {
    bool terminal = false;
    bool colour = false;
    std::size_t columns = 80;
    std::size_t rows = 24;

    [[nodiscard]] std::string paint(Style style, std::string_view text) const;
};

/// Returns the capabilities of a stream. Colour needs a terminal, and no $NO_COLOR (no-color.org). If the
/// terminal does not report its size, $COLUMNS and $LINES apply.
[[nodiscard]] Screen screen_of(int fd);

} // namespace gpuhost::ctl
