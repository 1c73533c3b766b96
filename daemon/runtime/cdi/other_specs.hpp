// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Returns whether a file's text seems to describe devices of this kind. Searches the text without parsing
/// it, since the file is untrusted.
[[nodiscard]] bool speaks_of(std::string_view text, std::string_view kind);

/// Returns sentences about files in `directory`, except `own`, that have devices of `kinds`. Two files of one
/// directory with the same device make it unavailable to all containers.
[[nodiscard]] std::vector<std::string> other_specs(const base::Root& host, const std::string& directory,
                                                   const std::set<std::string_view>& own,
                                                   const std::vector<std::string>& kinds);

} // namespace gpuhost::runtime
