// SPDX-License-Identifier: Apache-2.0
// Reads YAML that other tools write as the equivalent JSON.
#pragma once

#include "daemon/base/json.hpp"

#include <string_view>

namespace gpuhost::base {

/// The reader whose rules apply. These decide whether an unquoted scalar is null, a boolean, a number or a
/// text.
enum class YamlReader {
    ContainerRuntime, ///< readers of CDI specifications: a leading 0 means octal, too
    /// sigs.k8s.io/yaml with untyped values: YAML 1.1, with "yes", "0x1", "1_000" and "<<".
    Kubectl,
};

/// Parses the first document of `text`. A quoted scalar is a text. Fails with BadContent and the line for a
/// duplicate key in a map, and for more than 64 levels. Fails also if the values exceed 2 MiB, counting each
/// use of an alias. Kubectl's rules also reject invalid UTF-8, infinite numbers, and tags other than !!str,
/// which are not needed here.
[[nodiscard]] Result<Json> parse_yaml(std::string_view text, std::string_view what, YamlReader reader);

} // namespace gpuhost::base
