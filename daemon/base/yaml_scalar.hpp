// SPDX-License-Identifier: Apache-2.0
// What YAML's plain scalars are: "yes", "0x1" and "1.5" without quotes.
#pragma once

#include "daemon/base/yaml.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::base {

/// Null, a truth value, a number (which may be infinite) or a text.
[[nodiscard]] Json plain_scalar(const std::string& text, YamlReader reader);

/// The text that a plain scalar is as a key of a map; none where it can't be one.
[[nodiscard]] std::optional<std::string> plain_key(const std::string& text, YamlReader reader);

/// Whether Kubectl takes these bytes at all: UTF-8 without control characters.
[[nodiscard]] bool is_yaml_text(std::string_view text);

} // namespace gpuhost::base
