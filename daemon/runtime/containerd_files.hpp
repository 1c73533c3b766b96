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
    bool is_secret = false; ///< it may be as good as any, but who asks may not read it; `problem` says so
};

/// Why nothing is known of `path`, in words, where it takes root to read it.
[[nodiscard]] std::string secret_text(const std::string& path);

/// TOML of at most 1 MiB. Whatever is wrong is in the result.
[[nodiscard]] ConfigFile read_config_file(const base::Root& root, const std::string& path);

/// Paths that a shell's pattern stands for, ordered by directory and name, as Go's filepath.Glob has them; at most 1,024, and
/// 65,536 names are looked at.
struct Matches {
    std::vector<std::string> paths;
    bool is_cut = false;    ///< there are more
    bool is_secret = false; ///< there may be more, where who asks may not look
};
[[nodiscard]] Matches glob(const base::Root& root, const std::string& pattern);

/// `path` first, then what it imports, then what these import: containerd's order, each path once. A `path` that is not there
/// is a file without content, since containerd then has its defaults; an import that is not there is a problem, and so
/// are more than 128 files. Patterns
/// without a directory are relative to the importing file, before containerd 1.7 to the directory that it was started in.
[[nodiscard]] std::vector<ConfigFile> read_containerd_files(const base::Root& root, const std::string& path,
                                                            bool before_1_7);

} // namespace gpuhost::runtime
