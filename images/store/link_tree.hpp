// SPDX-License-Identifier: Apache-2.0
// A directory tree of symbolic links into the blob store. It presents packages and plain files of a bundle
// under their own names, without copies.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::images {

struct LinkedFile {
    std::string name; ///< its path relative to the tree's directory
    std::string hex;
};

struct LinkTree {
    std::string name;              ///< the tree's directory name: "debian-12"
    std::vector<LinkedFile> files; ///< sorted by name
};

/// Returns the paths of all files of the tree, sorted.
[[nodiscard]] std::vector<std::string> names_in(const LinkTree& tree);
/// Reports whether a tree may contain a file with this path. It must be relative, without "..", and have at
/// most 1024 bytes and 32 components.
[[nodiscard]] bool is_path_in_tree(const std::string& name);
/// Finds names that cannot be in one tree: "a" beside "a/b". Returns the first of the sorted `names` that is
/// also the directory of another one; empty if there is none.
[[nodiscard]] std::string file_and_directory(const std::vector<std::string>& names);

/// Creates the links below `directory`, which is created too. They are on the disk on return. The caller
/// syncs the parent of `directory`.
[[nodiscard]] base::Result<void> make_link_tree(const base::Root& root, const std::string& directory,
                                                const std::vector<LinkedFile>& files);

} // namespace gpuhost::images
