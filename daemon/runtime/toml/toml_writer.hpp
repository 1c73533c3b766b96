// SPDX-License-Identifier: Apache-2.0
// Writes TOML in gpuhost's style.
#pragma once

#include "daemon/base/json.hpp"

#include <string>
#include <string_view>

namespace gpuhost::runtime {

/// Returns text that parse_toml() reads as the same document, if that is within its limits and UTF-8. Plain
/// values precede tables, ordered by key. Omits null values. Integers are signed and have 64 bits.
[[nodiscard]] std::string to_toml(const base::Json& table);

/// Returns the text in quotes.
[[nodiscard]] std::string toml_string(std::string_view text);

} // namespace gpuhost::runtime
