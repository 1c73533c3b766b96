// SPDX-License-Identifier: Apache-2.0
// Who uses the files of a directory: processes that map them, and mount namespaces that have them mounted.
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
    std::string file; ///< one of them
};

/// All processes but the calling one. A container maps a file under its own name for it, so files are compared by inode as
/// well as by path. A process that can't be looked at is an error: it might be one of them. `store` is the part of
/// `directory` by which a mount's source is known where the store is on a file system of its own: "/driver/".
[[nodiscard]] Result<std::vector<FileUser>> find_file_users(const Root& root, const std::string& directory,
                                                            std::string_view store);

} // namespace gpuhost::base
