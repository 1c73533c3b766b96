// SPDX-License-Identifier: Apache-2.0
// One toolkit as it lies in the store: a tree as NVIDIA's packages unpack below /usr, and manifest.json, whose digest names its
// directory.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/set/file_list.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

inline constexpr std::string_view toolkit_directory = "/var/lib/gpuhost/toolkit";
inline constexpr std::string_view toolkit_program =
    "nvidia-container-runtime"; ///< without it there is no toolkit

struct ToolkitManifest {
    std::string version;                  ///< "1.18.1"
    std::vector<std::string> packages;    ///< as they call themselves: "nvidia-container-toolkit 1.18.1-1"
    std::vector<content::TreeFile> files; ///< in order of path
};

[[nodiscard]] std::string encode(const ToolkitManifest& manifest);
/// Strict: what is not canonical, or has no such program, is BadContent.
[[nodiscard]] base::Result<ToolkitManifest> decode_toolkit_manifest(std::string_view text,
                                                                    std::string_view what);

struct ToolkitSet {
    ToolkitManifest manifest;
    std::string digest;
    std::string path; ///< of its directory
    std::int64_t published_us = 0;

    /// Its programs, "nvidia-ctk".
    [[nodiscard]] std::vector<std::string> programs() const;
    /// Where its libraries are, below its directory: "usr/lib/x86_64-linux-gnu"; empty: it has none.
    [[nodiscard]] std::string libraries() const;
};

/// What its manifest says, and no look at its files. Follows no link below `path`.
[[nodiscard]] base::Result<ToolkitSet> read_toolkit(const base::Root& root, const std::string& path);

/// Hashes all of it: what is not as its manifest says.
[[nodiscard]] base::Result<std::vector<std::string>>
check_toolkit(const base::Root& root, const ToolkitSet& set, const content::OnBytes& on_bytes = {});

} // namespace gpuhost::runtime
