// SPDX-License-Identifier: Apache-2.0
// The files of containerd's configuration, as containerd goes from one to the next by "imports".
#pragma once

#include "daemon/runtime/inspect/config_file.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Paths that a shell's pattern stands for, ordered by directory and name, as Go's filepath.Glob has them; at most 1,024, and
/// 65,536 names are looked at.
struct Matches {
    std::vector<std::string> paths;
    bool is_cut = false;    ///< there are more
    bool is_secret = false; ///< there may be more, where who asks may not look
};
[[nodiscard]] Matches glob(const base::Root& root, const std::string& pattern);

/// `path` first, then what it imports, then what these import: containerd's order, each path once. A `path` that is not there
/// is a file without content, since containerd then has its defaults; an import that is not there is a problem, and so are
/// more than most_config_files. Patterns without a directory are relative to the importing file, before containerd 1.7 to the
/// directory that it was started in.
[[nodiscard]] std::vector<ConfigFile> read_containerd_files(const base::Root& root, const std::string& path,
                                                            bool before_1_7);

} // namespace gpuhost::runtime
