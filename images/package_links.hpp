// SPDX-License-Identifier: Apache-2.0
// A tree of links into the blob store: the packages under the names that their indexes have for them, without a copy.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::images {

struct PackageFile {
    std::string name; ///< its path in the tree
    std::string hex;
};

/// In a directory that is new. Durable when it returns, but for the directory's own name.
[[nodiscard]] base::Result<void> make_package_links(const base::Root& root, const std::string& directory,
                                                    const std::vector<PackageFile>& files);

} // namespace gpuhost::images
