// SPDX-License-Identifier: Apache-2.0
// Writes one set (file_list.hpp) into the staging directory, and hashes its files.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/archive/archive.hpp"
#include "daemon/content/archive/tree.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gpuhost::content {

class SetWriter {
  public:
    /// `place` is the directory of the set in the staging directory ("/userland"). Removes the files that a
    /// killed worker left in `place`.
    [[nodiscard]] static base::Result<SetWriter> create(const base::Root& staging, std::string place);

    /// Adds the current member of `archive` as `path`. Fails with BadContent if the path exists.
    [[nodiscard]] base::Result<void> add(const std::string& path, bool executable, ArchiveReader& archive,
                                         const OnBytes& on_bytes = {});
    /// Renames a file that is already in the set's directory from `temporary` to `path`, and adds it to the
    /// set. `digest` is the digest of the file's content.
    [[nodiscard]] base::Result<void> adopt(const std::string& temporary, const std::string& path,
                                           const FileDigest& digest);
    [[nodiscard]] base::Result<void> add_link(const std::string& path, const std::string& target);
    [[nodiscard]] bool has(std::string_view path) const;
    [[nodiscard]] const std::vector<TreeFile>& files() const { return files_; }
    /// Opens a file that was added, to read its content.
    [[nodiscard]] base::Result<base::UniqueFd> open(const std::string& path) const;

    /// Writes the manifest. `encode` returns its text and gets the files in order of path. The set can then
    /// be published.
    [[nodiscard]] base::Result<void>
    finish(const std::function<std::string(const std::vector<TreeFile>&)>& encode);

  private:
    SetWriter(const base::Root& staging, std::string place) : staging_(&staging), place_(std::move(place)) {}
    [[nodiscard]] base::Result<void> make_parent(const std::string& path) const;

    const base::Root* staging_;
    std::string place_;
    std::vector<TreeFile> files_;
};

} // namespace gpuhost::content
