// SPDX-License-Identifier: Apache-2.0
// A directory as content: what is in it by digest, and how it becomes immutable.
//
// Walks by directory descriptors and never follows a link, so a tree that somebody else wrote can be looked
// at as root. Refused as BadContent: anything but plain files, directories and links inside; a file with a
// second name (a hard link).
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
    std::string target; ///< of a link; then nothing below is set
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

/// Told after each block that was hashed; may be empty.
using OnBytes = std::function<void(std::uint64_t)>;

/// Everything below `directory` in order of path, read and hashed.
[[nodiscard]] base::Result<std::vector<TreeFile>> hash_tree(int directory, const std::string& what,
                                                            const OnBytes& on_bytes = {},
                                                            const TreeLimits& limits = {});

/// Makes the tree root's (when we are root) and read-only, and syncs all of it: writing starts everywhere
/// before anything is waited for.
[[nodiscard]] base::Result<void> seal_tree(int directory, const std::string& what,
                                           const TreeLimits& limits = {});

/// A link's target that stays inside the tree when seen from `path`.
[[nodiscard]] bool link_stays_inside(std::string_view path, std::string_view target);

} // namespace gpuhost::content
