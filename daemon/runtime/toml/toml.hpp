// SPDX-License-Identifier: Apache-2.0
// TOML as container runtimes' configurations are written in, read as the JSON that says the same.
#pragma once

#include "daemon/base/json.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// `what` names the document in the error. Dates and times become texts. BadContent, with its line, is what is no TOML, and
/// a key or a value that is nested too deeply for a configuration: 32 levels in one line; and a line of more than 64 KiB, or
/// of more than 4,096 dots.
[[nodiscard]] base::Result<base::Json> parse_toml(std::string_view text, std::string_view what);

/// Bytes of a text, without the one at `end`.
struct TextRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// Where a text says `KEY = VALUE`.
struct TomlPlace {
    TextRange key; ///< with its quotes, where it has some
    TextRange value;
    std::vector<TextRange> elements; ///< of a list
};

/// A document for who edits its text.
struct TomlText {
    base::Json content;
    std::map<std::string, TomlPlace, std::less<>> places; ///< of top-level keys whose values are no tables
};

/// As parse_toml().
[[nodiscard]] base::Result<TomlText> locate_toml(std::string_view text, std::string_view what);

} // namespace gpuhost::runtime
