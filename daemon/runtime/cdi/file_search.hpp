// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Where `path` leads once all links in it are followed, again as the host sees it.
[[nodiscard]] base::Result<std::string> real_path(const base::Root& root, const std::string& path);

/// Looks for files by their names, and lists each directory once. What is found stays found: for one look at a host.
class FileSearch {
  public:
    explicit FileSearch(const base::Root& root) : root_(root) {}

    /// Those in `directory` whose names fit a shell's `pattern`, in order; what is a directory is none.
    [[nodiscard]] std::vector<std::string> files(const std::string& directory, const std::string& pattern);
    /// The same in all `directories`, in their order, and each file once: by its own path, with links followed.
    [[nodiscard]] std::vector<std::string> real_files(const std::vector<std::string>& directories,
                                                      const std::string& pattern);
    /// The first of `directories` that has `name`, which may have slashes, with one of `mode`'s bits if it has some.
    [[nodiscard]] std::optional<std::string> first_file(const std::vector<std::string>& directories,
                                                        const std::string& name, mode_t mode = 0) const;

  private:
    [[nodiscard]] const std::vector<std::string>& names(const std::string& directory);

    const base::Root& root_;
    std::map<std::string, std::vector<std::string>> names_;
};

} // namespace gpuhost::runtime
