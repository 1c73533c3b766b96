// SPDX-License-Identifier: Apache-2.0
// Hashes directory trees, and seals them: makes them read-only and owned by root.
//
// Opens each file relative to the descriptor of its directory and never follows a link, so root can read a
// tree that another user wrote. Fails with BadContent for anything but regular files, directories, and
// symbolic links to targets inside the tree. A file with a second name (a hard link) is not accepted either.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::content {

struct TreeFile {
    std::string path;   ///< relative
    std::string target; ///< of a symbolic link; then the members below are not set
    bool executable = false;
    std::uint64_t size = 0;
    std::string sha256;
    friend bool operator==(const TreeFile&, const TreeFile&) = default;
};

struct TreeLimits {
    std::size_t files = 50'000;
    std::uint64_t bytes = std::uint64_t{8} << 30U;
    unsigned depth = 32;
};

/// Called with the size of each block that was hashed; may be empty.
using OnBytes = std::function<void(std::uint64_t)>;

/// Hashes all files below `directory`. Returns them in order of path.
[[nodiscard]] base::Result<std::vector<TreeFile>> hash_tree(int directory, const std::string& what,
                                                            const OnBytes& on_bytes = {},
                                                            const TreeLimits& limits = {});

/// Makes the tree read-only, and owned by root if this process is root. Syncs the whole tree: starts all
/// writes before it waits for the first one.
[[nodiscard]] base::Result<void> seal_tree(int directory, const std::string& what,
                                           const TreeLimits& limits = {});

/// Returns true if a symbolic link at `path` with this target stays inside the tree.
[[nodiscard]] bool link_stays_inside(std::string_view path, std::string_view target);

} // namespace gpuhost::content
