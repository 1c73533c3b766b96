// SPDX-License-Identifier: Apache-2.0
// The list of files in the manifest of a set. A set is a directory with the files of one import (a driver's
// userland, modules, a toolkit) and manifest.json. The list contains the digest of each file, so the digest
// of the manifest covers the whole set.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/content/archive/tree.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

inline constexpr std::string_view manifest_name = "manifest.json"; ///< in a set's directory
inline constexpr std::size_t manifest_limit = std::size_t{4} << 20U;

[[nodiscard]] base::Json to_json(const std::vector<TreeFile>& files);

/// Parses the list. Fails with BadContent for a path that is not below the set's directory, a link that
/// points out of it, or an invalid digest.
[[nodiscard]] base::Result<std::vector<TreeFile>> files_from_json(const base::Json& array);

/// Compares a set with its manifest. `found` is the result of hash_tree(). Returns a text for each file that
/// differs, is missing, or is not listed.
[[nodiscard]] std::vector<std::string> differences(const std::vector<TreeFile>& listed,
                                                   std::vector<TreeFile> found);

} // namespace gpuhost::content
