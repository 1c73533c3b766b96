// SPDX-License-Identifier: Apache-2.0
// Built modules that packages bring (RPM's kmod packages), as module sets, one a kernel.
#pragma once

#include "daemon/content/archive/archive.hpp"
#include "kmod/store/layout.hpp"
#include "kmod/store/manifest.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::kmod {

class PackageModules {
  public:
    explicit PackageModules(const base::Root& staging) : staging_(staging) {}

    /// The member where `archive` stands, into a file without a name: what a set is called is known when all of it was
    /// read.
    [[nodiscard]] base::Result<void> take(const ModulePlace& place, content::ArchiveReader& archive);
    /// Makes sets of all that was taken, in the staging directory. BadContent: they are not of `version`, or not for the
    /// kernel that their place is of. `space` is what may be written.
    [[nodiscard]] base::Result<std::vector<Manifest>> stage(const std::string& version, std::uint64_t space);

  private:
    struct Taken {
        base::UniqueFd fd;
        std::string file;
    };
    const base::Root& staging_;
    std::map<std::string, std::vector<Taken>> kernels_;
    std::size_t count_ = 0;
};

} // namespace gpuhost::kmod
