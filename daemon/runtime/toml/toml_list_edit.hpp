// SPDX-License-Identifier: Apache-2.0
// A list in a text of TOML with elements taken out and others put in, in the style that it has. Pure, and only careful: who
// calls it reads the result again.
#pragma once

#include "daemon/runtime/toml/toml.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// What ends lines there: of the line at `at`, else of the one before, else "\n".
[[nodiscard]] std::string line_end(std::string_view text, std::size_t at);
/// Where the line of `at` begins, behind a byte order mark; and where the next one does.
[[nodiscard]] std::size_t line_begin(std::string_view text, std::size_t at);
[[nodiscard]] std::size_t next_line(std::string_view text, std::size_t at);
/// Blanks and tabs alone, and what ends a line.
[[nodiscard]] bool is_blank(std::string_view text);

/// Without the elements of which `keeps` is false. Comments stay, and so does the key.
[[nodiscard]] std::string without_elements(std::string_view text, const TomlPlace& list,
                                           const std::vector<bool>& keeps);
/// `values` come last, as they are written in TOML.
[[nodiscard]] std::string with_elements(std::string_view text, const TomlPlace& list,
                                        const std::vector<std::string>& values);
/// Without the key, where it and its value have their lines for themselves and hold no comment; else with an empty list.
[[nodiscard]] std::string without_list(std::string_view text, const TomlPlace& list);

} // namespace gpuhost::runtime
