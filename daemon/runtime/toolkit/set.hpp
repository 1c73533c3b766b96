// SPDX-License-Identifier: Apache-2.0
// One toolkit of the store: a tree as NVIDIA's packages unpack it below /usr, and manifest.json. The
// manifest's digest is the directory's name.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/set/file_list.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

inline constexpr std::string_view toolkit_directory = "/var/lib/gpuhost/toolkit";
/// Required in every toolkit.
inline constexpr std::string_view toolkit_program = "nvidia-container-runtime";

struct ToolkitManifest {
    std::string version;                  ///< "1.18.1"
    std::vector<std::string> packages;    ///< names and versions: "nvidia-container-toolkit 1.18.1-1"
    std::vector<content::TreeFile> files; ///< ordered by path
};

[[nodiscard]] std::string encode(const ToolkitManifest& manifest);
/// Fails with BadContent if the text is not canonical or lacks the program.
[[nodiscard]] base::Result<ToolkitManifest> decode_toolkit_manifest(std::string_view text,
                                                                    std::string_view what);

struct ToolkitSet {
    ToolkitManifest manifest;
    std::string digest;
    std::string path; ///< of the set's directory
    std::int64_t published_us = 0;

    /// Returns the names of its programs, such as "nvidia-ctk".
    [[nodiscard]] std::vector<std::string> programs() const;
    /// Returns the library directory relative to `path`: "usr/lib/x86_64-linux-gnu"; empty: none.
    [[nodiscard]] std::string libraries() const;
};

/// Reads the manifest without examining the files. Follows no link below `path`.
[[nodiscard]] base::Result<ToolkitSet> read_toolkit(const base::Root& root, const std::string& path);

/// Hashes all files and returns the differences from the manifest.
[[nodiscard]] base::Result<std::vector<std::string>>
check_toolkit(const base::Root& root, const ToolkitSet& set, const content::OnBytes& on_bytes = {});

} // namespace gpuhost::runtime
