// SPDX-License-Identifier: Apache-2.0
// Reads YAML files that other tools write, and returns the equivalent JSON.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <string_view>

namespace gpuhost::base {

/// The program whose rules apply. The rules decide whether an unquoted scalar is null, a boolean, a number or
/// a string.
enum class YamlReader {
    /// Rules of programs that read CDI specifications; numbers with a leading 0 are octal too.
    ContainerRuntime,
    /// Rules of sigs.k8s.io/yaml with untyped values: YAML 1.1, which has "yes", "0x1", "1_000" and "<<".
    Kubectl,
};

/// Parses the first document of `text`. A quoted scalar is a string. Fails with BadContent and the number of
/// the line: for a key that occurs twice in a map, for more than 64 levels, and for more than 2 MiB of
/// values, counting each use of an alias. Kubectl's rules also refuse invalid UTF-8, infinite numbers, and
/// tags other than !!str.
[[nodiscard]] Result<Json> parse_yaml(std::string_view text, std::string_view what, YamlReader reader);

} // namespace gpuhost::base
