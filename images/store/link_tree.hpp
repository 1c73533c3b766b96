// SPDX-License-Identifier: Apache-2.0
// A tree of links into the blob store: what a bundle carries besides images, under the names that it has there, without a copy.
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

/// Sorted.
[[nodiscard]] std::vector<std::string> names_in(const LinkTree& tree);
/// Can a tree have a file of that path? Each of them is made as one below a directory.
[[nodiscard]] bool is_path_in_tree(const std::string& name);
/// The first of these sorted names that is a directory of another one; empty: all can be there.
[[nodiscard]] std::string file_and_directory(const std::vector<std::string>& names);

/// In a directory that is new. Durable when it returns, but for the directory's own name.
[[nodiscard]] base::Result<void> make_link_tree(const base::Root& root, const std::string& directory,
                                                const std::vector<LinkedFile>& files);

} // namespace gpuhost::images
