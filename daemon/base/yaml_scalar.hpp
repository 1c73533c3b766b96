// SPDX-License-Identifier: Apache-2.0
// Determines the type of YAML's plain scalars: "yes", "0x1" and "1.5" without quotes.
#pragma once

#include "daemon/base/yaml.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::base {

/// Returns null, a boolean, a number (which may be infinite) or a string.
[[nodiscard]] Json plain_scalar(const std::string& text, YamlReader reader);

/// Returns the text of a plain scalar that is a map's key; nullopt if it can't be a key.
[[nodiscard]] std::optional<std::string> plain_key(const std::string& text, YamlReader reader);

/// Returns true if Kubectl accepts these bytes: UTF-8 without control characters.
[[nodiscard]] bool is_yaml_text(std::string_view text);

} // namespace gpuhost::base
