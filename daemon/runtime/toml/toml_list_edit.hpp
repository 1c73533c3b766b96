// SPDX-License-Identifier: Apache-2.0
// Removes and adds elements of a list in TOML text, and preserves its style. Pure. Callers must parse the
// result to verify it.
#pragma once

#include "daemon/runtime/toml/toml.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Returns the end of the line at `at`, else that of the line before, else "\n".
[[nodiscard]] std::string line_end(std::string_view text, std::size_t at);
/// Return the beginning of the line of `at` (after a byte order mark), and that of the next line.
[[nodiscard]] std::size_t line_begin(std::string_view text, std::size_t at);
[[nodiscard]] std::size_t next_line(std::string_view text, std::size_t at);
/// Returns whether the text has only blanks, tabs and line ends.
[[nodiscard]] bool is_blank(std::string_view text);

/// Returns the text without the elements whose `keeps` is false. Comments and the key stay.
[[nodiscard]] std::string without_elements(std::string_view text, const TomlPlace& list,
                                           const std::vector<bool>& keeps);
/// Appends `values`, which are in TOML syntax.
[[nodiscard]] std::string with_elements(std::string_view text, const TomlPlace& list,
                                        const std::vector<std::string>& values);
/// Removes the key if it and its value have separate lines without comments. Otherwise leaves an empty list.
[[nodiscard]] std::string without_list(std::string_view text, const TomlPlace& list);

} // namespace gpuhost::runtime
