// SPDX-License-Identifier: Apache-2.0
// TOML as container runtimes' configurations are written in, read as the JSON that says the same.
#pragma once

#include "daemon/base/json.hpp"

#include <string_view>

namespace gpuhost::runtime {

/// `what` names the document in the error. Dates and times become texts. BadContent, with its line, is what is no TOML, and
/// a key or a value that is nested too deeply for a configuration: 32 levels in one line; and a line of more than 64 KiB, or
/// of more than 4,096 dots.
[[nodiscard]] base::Result<base::Json> parse_toml(std::string_view text, std::string_view what);

} // namespace gpuhost::runtime
