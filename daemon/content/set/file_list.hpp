// SPDX-License-Identifier: Apache-2.0
// The files of a sealed set as its manifest lists them: each by digest, so that the digest of the manifest says all of the
// set's content.
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

/// Strict: a path that is no file's below the set's directory, a link that leads out of it, and what is no digest are
/// BadContent.
[[nodiscard]] base::Result<std::vector<TreeFile>> files_from_json(const base::Json& array);

/// What of `found`, as hash_tree() gives it, is not what the manifest lists: each file that differs, lacks or is too much.
[[nodiscard]] std::vector<std::string> differences(const std::vector<TreeFile>& listed,
                                                   std::vector<TreeFile> found);

} // namespace gpuhost::content
