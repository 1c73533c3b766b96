// SPDX-License-Identifier: Apache-2.0
// Reads YAML files that other tools write, and returns the equivalent JSON.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::base {

/// Parses the first document of `text`. A quoted scalar is a string. A plain one is null, a boolean ("true",
/// not "yes"), an integer or a string; integers with a leading 0 are octal. Fails with BadContent for invalid
/// UTF-8. Fails with BadContent and a line number for a key that occurs twice in a map, for "<<", for tags
/// other than !!str, for more than 64 levels, and for more than 2 MiB of values, where each use of an alias
/// counts.
[[nodiscard]] Result<Json> parse_yaml(std::string_view text, std::string_view what);

using YamlLines = std::map<std::string, std::size_t, std::less<>>;

struct YamlDocument {
    Json value;
    /// Lines of the text, from 1, by path: "waves[0].size". The path "" is the line of the document. Paths of
    /// more than 256 bytes, and paths inside an alias, are missing.
    YamlLines lines;
};

/// Returns the path of the value that contains the value at `path`.
[[nodiscard]] std::string outer_path(const std::string& path);
/// Returns the line of the value at `path`, or else of the nearest value that contains it.
[[nodiscard]] std::size_t yaml_line(const YamlLines& lines, std::string path);

/// Parses all documents of `text`, each like parse_yaml(), but with 2 MiB of values for all of them together.
/// Omits empty documents.
[[nodiscard]] Result<std::vector<YamlDocument>> parse_yaml_documents(std::string_view text,
                                                                     std::string_view what);

} // namespace gpuhost::base
