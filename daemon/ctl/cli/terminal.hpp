// SPDX-License-Identifier: Apache-2.0
// Capabilities of an output stream.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

enum class Style { Plain, Bold, Dim, Good, Warn, Bad };

/// A plain value, so that tests can call the renderers with any width, with or without colour.
struct Screen {
    bool terminal = false;
    bool colour = false;
    std::size_t columns = 80;
    std::size_t rows = 24;

    [[nodiscard]] std::string paint(Style style, std::string_view text) const;
};

/// Returns the stream's capabilities. Colour needs a terminal without $NO_COLOR (no-color.org). $COLUMNS and
/// $LINES apply if the terminal does not report its size.
[[nodiscard]] Screen screen_of(int fd);

} // namespace gpuhost::ctl
