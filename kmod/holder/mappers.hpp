// SPDX-License-Identifier: Apache-2.0
// Finds the users of the files of one driver version: processes that map one of them, and containers in which
// one is mounted. Such files must not be deleted.
#pragma once

#include "kmod/holder/holders.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Returns the users of the files below `directory`. Holder::devices of each user contains one of the files
/// that it uses. A file has another path in a container, so files are compared by inode as well as by path.
/// Fails if a process cannot be examined, since it might be a user.
[[nodiscard]] base::Result<std::vector<Holder>> find_mappers(const base::Root& root,
                                                             const std::string& directory);

} // namespace gpuhost::kmod
