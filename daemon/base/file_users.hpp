// SPDX-License-Identifier: Apache-2.0
// Finds the users of a directory's files: processes that map the files, and mount namespaces in which the
// directory is mounted.
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

/// Returns the mappings of files in the text of /proc/PID/maps. Consecutive mappings of one file count as
/// one.
[[nodiscard]] std::vector<Mapping> parse_maps(std::string_view text);

struct FileUser {
    pid_t pid = 0;
    std::string file; ///< the used file; for a mount: its mount point
};

/// Returns the processes that use files below `directory`, except the calling one. A mount namespace in which
/// `directory` is mounted counts as one process. A container may map a file under another path, so files are
/// compared by inode with base name, and by path. Fails if a process can't be examined, because it may use
/// the files. `store` is a component of `directory`, such as "/driver/". If gpuhost's store is a file system
/// of its own, /proc/PID/mountinfo names paths from this component on.
[[nodiscard]] Result<std::vector<FileUser>> find_file_users(const Root& root, const std::string& directory,
                                                            std::string_view store);

} // namespace gpuhost::base
