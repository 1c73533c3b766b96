// SPDX-License-Identifier: Apache-2.0
// The files of containerd's configuration, found through "imports".
#pragma once

#include "daemon/runtime/inspect/config_file.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// The paths that match a shell pattern, ordered by directory and name like Go's filepath.Glob. At most 1,024
/// paths; the search examines at most 65,536 names.
struct Matches {
    std::vector<std::string> paths;
    bool is_cut = false;    ///< more paths match
    bool is_secret = false; ///< a directory can't be read by the caller, so more paths may match
};
[[nodiscard]] Matches glob(const base::Root& root, const std::string& pattern);

/// Returns the file `path`, then the files that it imports, then the imports of those files. This is the
/// order in which containerd reads them; each path occurs once. If `path` is missing, the result has a file
/// without content for it, because containerd then uses its defaults. A missing import is a problem, and so
/// are more than most_config_files files. Patterns without a directory are relative to the importing file.
/// Before containerd 1.7 they are relative to containerd's working directory.
[[nodiscard]] std::vector<ConfigFile> read_containerd_files(const base::Root& root, const std::string& path,
                                                            bool before_1_7);

} // namespace gpuhost::runtime
