// SPDX-License-Identifier: Apache-2.0
// The list of files in the manifest of a set, and the check of a set. A set is a directory with the files of
// one import (a driver's userland, modules, a toolkit) and manifest.json. The list contains the digest of
// each file, so the digest of the manifest covers the whole set.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/archive/tree.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

inline constexpr std::string_view manifest_name = "manifest.json"; ///< in a set's directory

[[nodiscard]] base::Json to_json(const std::vector<TreeFile>& files);

/// Parses the list. Fails with BadContent for a path that is not below the set's directory, a link that
/// points out of it, or an invalid digest.
[[nodiscard]] base::Result<std::vector<TreeFile>> files_from_json(const base::Json& array);

/// The open directory of a set, with the text of its manifest. The files of the set have not been read.
struct OpenSet {
    base::UniqueFd directory;
    std::string path;
    std::string manifest;
    std::string digest;            ///< of the manifest
    std::int64_t published_us = 0; ///< CLOCK_REALTIME

    [[nodiscard]] std::string file() const { return path + "/" + std::string(manifest_name); }
};
/// Opens the set in the directory `path`. Follows no links in that directory. Fails with BadContent if the
/// directory's name is a digest, but not the digest of the manifest.
[[nodiscard]] base::Result<OpenSet> open_set(const base::Root& root, const std::string& path);

/// Hashes all files of a set and compares them with the list in its manifest. Returns a text for each file
/// that differs, is missing, or is not listed. Calls `on_bytes` with the bytes of each read.
[[nodiscard]] base::Result<std::vector<std::string>> changed_files(const OpenSet& set,
                                                                   const OnBytes& on_bytes = {});

/// Opens the set in the directory `path` and returns its changed_files().
[[nodiscard]] base::Result<std::vector<std::string>>
check_set(const base::Root& root, const std::string& path, const OnBytes& on_bytes = {});

} // namespace gpuhost::content
