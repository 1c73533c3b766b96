// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Returns `path` with all links resolved, as a path below `root`.
[[nodiscard]] base::Result<std::string> real_path(const base::Root& root, const std::string& path);

/// Finds files by name. Lists each directory once and caches the list, so an object must not be used after
/// files change.
class FileSearch {
  public:
    explicit FileSearch(const base::Root& root) : root_(root) {}

    /// Returns the files in `directory` whose names match the shell pattern, in order. Excludes directories.
    [[nodiscard]] std::vector<std::string> files(const std::string& directory, const std::string& pattern);
    /// Returns the files of all `directories`, in their order. Each file occurs once, by its path with links
    /// resolved.
    [[nodiscard]] std::vector<std::string> real_files(const std::vector<std::string>& directories,
                                                      const std::string& pattern);
    /// Returns the path of the first file `name` in `directories`. `name` may contain slashes. If `mode` is
    /// not 0, the file must have at least one of these permission bits.
    [[nodiscard]] std::optional<std::string> first_file(const std::vector<std::string>& directories,
                                                        const std::string& name, mode_t mode = 0) const;

  private:
    [[nodiscard]] const std::vector<std::string>& names(const std::string& directory);

    const base::Root& root_;
    std::map<std::string, std::vector<std::string>> names_;
};

} // namespace gpuhost::runtime
