// SPDX-License-Identifier: Apache-2.0
// One toolkit of the store: a directory with files as NVIDIA's packages unpack them below /usr, and
// manifest.json. The directory's name is the digest of the manifest.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/set/file_list.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

inline constexpr std::string_view toolkit_directory = "/var/lib/gpuhost/toolkit";
/// The program that every toolkit must contain.
inline constexpr std::string_view toolkit_program = "nvidia-container-runtime";

struct ToolkitManifest {
    std::string version;                  ///< "1.18.1"
    std::vector<std::string> packages;    ///< names and versions: "nvidia-container-toolkit 1.18.1-1"
    std::vector<content::TreeFile> files; ///< ordered by path
};

[[nodiscard]] std::string encode(const ToolkitManifest& manifest);
/// Fails with BadContent if the text is not what encode() writes, or if the toolkit has no toolkit_program.
[[nodiscard]] base::Result<ToolkitManifest> decode_toolkit_manifest(std::string_view text,
                                                                    std::string_view what);

struct ToolkitSet {
    ToolkitManifest manifest;
    std::string digest;
    std::string path; ///< the set's directory
    std::int64_t published_us = 0;

    /// Returns the names of the toolkit's programs, such as "nvidia-ctk".
    [[nodiscard]] std::vector<std::string> programs() const;
    /// Returns the library directory relative to `path`: "usr/lib/x86_64-linux-gnu"; empty: none.
    [[nodiscard]] std::string libraries() const;
};

/// Reads the manifest, and checks its digest. Does not examine the files. Follows no link at or below `path`.
[[nodiscard]] base::Result<ToolkitSet> read_toolkit(const base::Root& root, const std::string& path);

} // namespace gpuhost::runtime
