// SPDX-License-Identifier: Apache-2.0
// YAML as other tools write specifications, read as the JSON that says the same.
#pragma once

#include "daemon/base/json.hpp"

#include <string_view>

namespace gpuhost::runtime {

/// The first document of `text`. What is quoted is a text; else null, truth values and numbers are what the reader of
/// CDI's runtimes takes them for, octal with a leading 0 too. BadContent, with its line, is a key twice in one map, more
/// than 64 levels, and what stands for more than 2 MiB once each use of an alias is counted.
[[nodiscard]] base::Result<base::Json> parse_yaml(std::string_view text, std::string_view what);

} // namespace gpuhost::runtime
