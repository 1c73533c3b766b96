// SPDX-License-Identifier: Apache-2.0
// The files of a sealed set as its manifest lists them, each with its digest. The digest of the manifest thus
// covers all content of the set.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/content/archive/tree.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

inline constexpr std::string_view manifest_name = "manifest.json"; ///< in a set's directory
inline constexpr std::size_t manifest_limit = std::size_t{4} << 20U;

[[nodiscard]] base::Json to_json(const std::vector<TreeFile>& files);

/// Parses strictly. Fails with BadContent for a path that is not below the set's directory, a link that leads
/// out of it, or an invalid digest.
[[nodiscard]] base::Result<std::vector<TreeFile>> files_from_json(const base::Json& array);

/// Returns the differences between `found`, from hash_tree(), and the manifest: each file that differs, is
/// missing or is not listed.
[[nodiscard]] std::vector<std::string> differences(const std::vector<TreeFile>& listed,
                                                   std::vector<TreeFile> found);

} // namespace gpuhost::content
