// SPDX-License-Identifier: Apache-2.0
// Text with styles, as a plain value: lines of spans, measured in terminal columns.
#pragma once

#include "daemon/ctl/cli/terminal.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::ctl::dashboard {

struct Span {
    std::string text;
    Style style = Style::Plain;
    bool reverse = false; ///< of the selected line
    bool operator==(const Span&) const = default;
};

using Line = std::vector<Span>;

/// Splits text with the escape sequences of Screen::paint() into lines. Replaces all other control
/// characters.
[[nodiscard]] std::vector<Line> styled_lines(std::string_view text);
/// Returns the line as text with the escape sequences that `screen` permits.
[[nodiscard]] std::string painted(const Screen& screen, const Line& line);

[[nodiscard]] std::size_t width_of(const Line& line);
/// Truncates the line to `columns`, marks the cut with '…', and fills it with blanks.
[[nodiscard]] Line fitted(const Line& line, std::size_t columns);

/// Replaces each character beyond ASCII by one of ASCII, for a terminal whose locale is not UTF-8.
[[nodiscard]] std::string in_ascii(std::string_view text);

} // namespace gpuhost::ctl::dashboard
