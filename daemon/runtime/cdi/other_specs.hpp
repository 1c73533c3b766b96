// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Returns true if a file's text seems to describe devices of this kind. Searches the text without parsing
/// it, because the file is untrusted.
[[nodiscard]] bool speaks_of(std::string_view text, std::string_view kind);

/// Returns a sentence for each file in `directory` that has devices of `kinds`, except the files named in
/// `own`. If two files of one directory contain the same device, no container gets it.
[[nodiscard]] std::vector<std::string> other_specs(const base::Root& host, const std::string& directory,
                                                   const std::set<std::string_view>& own,
                                                   const std::vector<std::string>& kinds);

} // namespace gpuhost::runtime
