// SPDX-License-Identifier: Apache-2.0
// Writes one set (a userland, modules, a toolkit) into the staging directory, hashing what goes through it.
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
    /// `place` is the set's directory in the staging directory ("/userland"); what a killed worker left there
    /// goes.
    [[nodiscard]] static base::Result<SetWriter> create(const base::Root& staging, std::string place);

    /// The member where `archive` stands, as `path`. A path that is taken is BadContent.
    [[nodiscard]] base::Result<void> add(const std::string& path, bool executable, ArchiveReader& archive,
                                         const OnBytes& on_bytes = {});
    /// A file that stands in the set's directory under a temporary name already; `digest` is what was
    /// written.
    [[nodiscard]] base::Result<void> adopt(const std::string& temporary, const std::string& path,
                                           const FileDigest& digest);
    [[nodiscard]] base::Result<void> add_link(const std::string& path, const std::string& target);
    [[nodiscard]] bool has(std::string_view path) const;
    [[nodiscard]] const std::vector<TreeFile>& files() const { return files_; }
    /// Of a file that was added, for a look at its content.
    [[nodiscard]] base::Result<base::UniqueFd> open(const std::string& path) const;

    /// Writes the manifest that `encode` makes of the files, in order of path. The set is then ready for publishing.
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
