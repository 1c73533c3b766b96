// SPDX-License-Identifier: Apache-2.0
// A tree of links into the blob store. It shows the files of a bundle other than images under their own
// names, without copies.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::images {

struct LinkedFile {
    std::string name; ///< its path in the tree
    std::string hex;
};

struct LinkTree {
    std::string name;              ///< a path component: "debian-12"
    std::vector<LinkedFile> files; ///< sorted
};

/// Returns the paths in the tree, sorted.
[[nodiscard]] std::vector<std::string> names_in(const LinkTree& tree);
/// Reports whether a tree may contain this path: a safe relative path within the limits of length and
/// nesting.
[[nodiscard]] bool is_path_in_tree(const std::string& name);
/// Returns the first of these sorted names that is also a directory of another one; empty if none is.
[[nodiscard]] std::string file_and_directory(const std::vector<std::string>& names);

/// Creates the tree in a new directory. Durable on return, except for the directory's own name.
[[nodiscard]] base::Result<void> make_link_tree(const base::Root& root, const std::string& directory,
                                                const std::vector<LinkedFile>& files);

} // namespace gpuhost::images
