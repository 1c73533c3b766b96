// SPDX-License-Identifier: Apache-2.0
// Finds the users of a directory's files: processes that map them, and mount namespaces in which they are
// mounted.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace gpuhost::base {

struct Mapping {
    std::uint64_t inode = 0;
    std::string path;
};

/// File mappings of /proc/PID/maps, each file once.
[[nodiscard]] std::vector<Mapping> parse_maps(std::string_view text);

struct FileUser {
    pid_t pid = 0;
    std::string file; ///< one of the used files
};

/// Returns the processes, except the calling one, that use files below `directory`. A container maps a file
/// under another name, so files are compared by inode and by path. Fails if a process can't be examined,
/// since it might be a user. `store` is the part of `directory`, such as "/driver/", that identifies a
/// mount's source if the store is a file system of its own.
[[nodiscard]] Result<std::vector<FileUser>> find_file_users(const Root& root, const std::string& directory,
                                                            std::string_view store);

} // namespace gpuhost::base
