// SPDX-License-Identifier: Apache-2.0
// TOML as gpuhost writes it.
#pragma once

#include "daemon/base/json.hpp"

#include <string>
#include <string_view>

namespace gpuhost::runtime {

/// What parse_toml() reads as the same document, where that is within its bounds and of UTF-8. Plain values come before tables,
/// in the order of their keys; what is null is left out, and integers are signed ones of 64 bits.
[[nodiscard]] std::string to_toml(const base::Json& table);

/// In quotes.
[[nodiscard]] std::string toml_string(std::string_view text);

} // namespace gpuhost::runtime
