// SPDX-License-Identifier: Apache-2.0
// YAML as other tools write it, read as the JSON that says the same.
#pragma once

#include "daemon/base/json.hpp"

#include <string_view>

namespace gpuhost::base {

/// Who else reads the same text. What is not quoted is null, a truth value, a number or a text by their rules.
enum class YamlReader {
    ContainerRuntime, ///< the readers of CDI's specifications: octal with a leading 0 too
    Kubectl, ///< sigs.k8s.io/yaml without a type in mind: YAML 1.1, with "yes", "0x1", "1_000" and "<<"
};

/// The first document of `text`. What is quoted is a text. BadContent, with its line, is a key twice in one map, more
/// than 64 levels, and what stands for more than 2 MiB once each use of an alias is counted. To Kubectl, so is what it
/// does not take (no UTF-8, infinite numbers); and a tag but !!str, which nothing here needs.
[[nodiscard]] Result<Json> parse_yaml(std::string_view text, std::string_view what, YamlReader reader);

} // namespace gpuhost::base
