// SPDX-License-Identifier: Apache-2.0
// Removes and adds elements of a list in TOML text, and preserves the style of the text. Pure. Callers must
// parse the result to verify it.
#pragma once

#include "daemon/runtime/toml/toml.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Returns the line end, "\n" or "\r\n", of the line that contains `at`. If it has none, returns that of the
/// line before, else "\n".
[[nodiscard]] std::string line_end(std::string_view text, std::size_t at);
/// Return the offset at which the line that contains `at` begins (after a byte order mark), or at which the
/// next line begins.
[[nodiscard]] std::size_t line_begin(std::string_view text, std::size_t at);
[[nodiscard]] std::size_t next_line(std::string_view text, std::size_t at);
/// Returns true if the text contains only blanks, tabs and line ends.
[[nodiscard]] bool is_blank(std::string_view text);

/// Removes the elements for which `keeps` is false. Comments and the key stay.
[[nodiscard]] std::string without_elements(std::string_view text, const TomlPlace& list,
                                           const std::vector<bool>& keeps);
/// Appends `values` to the list; they are in TOML syntax.
[[nodiscard]] std::string with_elements(std::string_view text, const TomlPlace& list,
                                        const std::vector<std::string>& values);
/// Removes the key and its value if no comment or other text is in their lines. Otherwise leaves an empty
/// list.
[[nodiscard]] std::string without_list(std::string_view text, const TomlPlace& list);

} // namespace gpuhost::runtime
