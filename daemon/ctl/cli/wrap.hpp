// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/terminal.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Breaks a text at blanks into lines of at most `columns`, without a line feed at the end. The first line
/// begins at column `at`, the others with `indent` blanks. A command, as in "Do it: gpuhostctl apply", is
/// never broken, even if it is too long, because users copy it.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t columns, std::size_t at,
                               std::size_t indent);
/// Returns the width of a text without the escape sequences of Screen::paint().
[[nodiscard]] std::size_t visible_width(std::string_view text);
/// Returns the width of the widest part that wrap() never breaks: a word or a command.
[[nodiscard]] std::size_t unbroken_width(std::string_view text);

/// Returns `lead` and `text`. On a terminal, wraps the text with an indent as wide as the lead.
[[nodiscard]] std::string hanging(const Screen& screen, std::string_view lead, std::string_view text);
/// Wraps each line that is wider than the terminal. Its further lines are indented by two columns more than
/// the line, and below the text of a numbered line, such as "  12. load nvidia". Off a terminal, returns the
/// text.
[[nodiscard]] std::string fit(const Screen& screen, std::string_view text);

} // namespace gpuhost::ctl
