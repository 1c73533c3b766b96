// SPDX-License-Identifier: Apache-2.0
// The files of containerd's configuration, as containerd goes from one to the next by "imports".
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// One that a runtime reads, or tries to.
struct ConfigFile {
    std::string path;
    base::Json content = base::Json::object(); ///< empty where there is a problem
    std::string problem;                       ///< for which the runtime can't read it
    bool exists = true;
};

/// TOML of at most 1 MiB. Whatever is wrong is in the result.
[[nodiscard]] ConfigFile read_config_file(const base::Root& root, const std::string& path);

/// Paths that a shell's pattern stands for, ordered by directory and name, as Go's filepath.Glob has them.
[[nodiscard]] std::vector<std::string> glob(const base::Root& root, const std::string& pattern);

/// `path` first, then what it imports, then what these import: containerd's order, each path once. A `path` that is not there
/// is a file without content, since containerd then has its defaults; an import that is not there is a problem. Patterns
/// without a directory are relative to the importing file, before containerd 1.7 to the directory that it was started in.
[[nodiscard]] std::vector<ConfigFile> read_containerd_files(const base::Root& root, const std::string& path,
                                                            bool before_1_7);

} // namespace gpuhost::runtime
