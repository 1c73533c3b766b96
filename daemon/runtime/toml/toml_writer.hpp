// SPDX-License-Identifier: Apache-2.0
// Writes TOML in gpuhost's style.
#pragma once

#include "daemon/base/json_fwd.hpp"

#include <string>
#include <string_view>

namespace gpuhost::runtime {

/// Returns the text of a document. parse_toml() reads the text as the same document, if the text is UTF-8 and
/// within the limits of parse_toml(). Values precede tables, both ordered by key. Null values are omitted.
/// Integers are signed and have 64 bits.
[[nodiscard]] std::string to_toml(const base::Json& table);

/// Returns the text as a TOML string: in double quotes, with escapes.
[[nodiscard]] std::string toml_string(std::string_view text);

} // namespace gpuhost::runtime
