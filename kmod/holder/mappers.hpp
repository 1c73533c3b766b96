// SPDX-License-Identifier: Apache-2.0
// Finds the users of a driver version's files: processes that map them, and containers that have them
// mounted.
#pragma once

#include "kmod/holder/holders.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns the users of the files below `directory`, each with one of these files in `devices`. A container
/// maps a file under its own path, so files are compared by inode as well as by path. A process that cannot
/// be read is an error: it might be a user.
[[nodiscard]] base::Result<std::vector<Holder>> find_mappers(const base::Root& root,
                                                             const std::string& directory);

} // namespace gpuhost::kmod
