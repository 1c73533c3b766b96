// SPDX-License-Identifier: Apache-2.0
// Who uses the files of a driver version: processes that map them, and containers that have them mounted.
#pragma once

#include "kmod/holder/holders.hpp"

#include <string>
#include <vector>

namespace gpuhost::kmod {

/// Each with one of the files in `devices`. A container maps a file under its own name for it, so files are
/// compared by inode as well as by path. A process that can't be looked at is an error: it might be one of
/// them.
[[nodiscard]] base::Result<std::vector<Holder>> find_mappers(const base::Root& root,
                                                             const std::string& directory);

} // namespace gpuhost::kmod
