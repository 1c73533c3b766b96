// SPDX-License-Identifier: Apache-2.0
// Writes one set (userland, modules, source) into the staging directory, hashing what goes through it.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/archive.hpp"
#include "kmod/manifest.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gpuhost::kmod {

class SetWriter {
  public:
    /// `place` is the set's directory in the staging directory ("/userland"); what a killed worker left there
    /// goes.
    [[nodiscard]] static base::Result<SetWriter> create(const base::Root& staging, std::string place);

    /// The member where `archive` stands, as `path`. A path that is taken is BadContent.
    [[nodiscard]] base::Result<void> add(const std::string& path, bool executable,
                                         content::ArchiveReader& archive,
                                         const content::OnBytes& on_bytes = {});
    /// A file that stands in the set's directory under a temporary name already; `digest` is what was
    /// written.
    [[nodiscard]] base::Result<void> adopt(const std::string& temporary, const std::string& path,
                                           const content::FileDigest& digest);
    [[nodiscard]] base::Result<void> add_link(const std::string& path, const std::string& target);
    [[nodiscard]] bool has(std::string_view path) const;
    [[nodiscard]] const std::vector<content::TreeFile>& files() const { return files_; }
    /// Of a file that was added, for a look at its content.
    [[nodiscard]] base::Result<base::UniqueFd> open(const std::string& path) const;

    /// Puts the files into `manifest` and writes it. The set is then ready for publishing.
    [[nodiscard]] base::Result<void> finish(Manifest manifest);

  private:
    SetWriter(const base::Root& staging, std::string place) : staging_(&staging), place_(std::move(place)) {}
    [[nodiscard]] base::Result<void> make_parent(const std::string& path) const;

    const base::Root* staging_;
    std::string place_;
    std::vector<content::TreeFile> files_;
};

} // namespace gpuhost::kmod
