// SPDX-License-Identifier: Apache-2.0
// Reads the TOML of container runtimes' configurations as equivalent JSON.
#pragma once

#include "daemon/base/json.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Parses a document. `what` names it in errors. Dates and times become strings. Fails with BadContent and
/// the line number for invalid TOML. Also fails for more than 32 levels of nesting in one line, lines over 64
/// KiB, and lines with more than 4,096 dots.
[[nodiscard]] base::Result<base::Json> parse_toml(std::string_view text, std::string_view what);

/// A range of bytes in a text, from `begin` up to and without `end`.
struct TextRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// The position of a value in a text.
struct TomlPlace {
    TextRange value;
    std::vector<TextRange> elements; ///< the elements, if the value is a list
};

/// A parsed document with positions, for callers that edit its text.
struct TomlText {
    base::Json content;
    std::map<std::string, TomlPlace, std::less<>> places; ///< top-level keys, except those of tables
};

/// Parses like parse_toml(), and locates the top-level keys.
[[nodiscard]] base::Result<TomlText> locate_toml(std::string_view text, std::string_view what);

} // namespace gpuhost::runtime
