// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Does a file's text say that its devices are of this kind? As far as that can be told of a stranger's file by looking at
/// it: nothing is parsed.
[[nodiscard]] bool speaks_of(std::string_view text, std::string_view kind);

/// Sentences on the files in `directory`, other than those of the names `own`, that have devices of `kinds`: two files of
/// one directory that have the same devices take them from all containers.
[[nodiscard]] std::vector<std::string> other_specs(const base::Root& host, const std::string& directory,
                                                   const std::set<std::string_view>& own,
                                                   const std::vector<std::string>& kinds);

} // namespace gpuhost::runtime
