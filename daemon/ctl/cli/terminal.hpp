// SPDX-License-Identifier: Apache-2.0
// Capabilities of an output stream, and how to write to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

enum class Style { Plain, Bold, Dim, Good, Warn, Bad };

/// How to write to an output stream, as a plain value: tests render with any width, with or without colour.
struct Screen {
    bool terminal = false;
    bool colour = false;
    std::size_t columns = 80;
    std::size_t rows = 24;
    bool legend = true; ///< tables have a header and footers; false with --no-legend
    bool quiet = false; ///< no notes and no progress, with --quiet

    [[nodiscard]] std::string paint(Style style, std::string_view text) const;
};

/// Returns the capabilities of a stream. Only a terminal has colour. $SYSTEMD_COLORS (a boolean, "16" or
/// "256") turns it on or off; without it, $NO_COLOR (no-color.org) turns it off. If the terminal does not
/// report its size, $COLUMNS and $LINES apply.
[[nodiscard]] Screen screen_of(int fd);

} // namespace gpuhost::ctl
