// SPDX-License-Identifier: Apache-2.0
// Makes module sets, one for each kernel, from built modules in packages (RPM's kmod packages).
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

    /// Copies the current member of `archive` into an unnamed file: the set's name is known only after all of
    /// it is read.
    [[nodiscard]] base::Result<void> take(const ModulePlace& place, content::ArchiveReader& archive);
    /// Makes sets from all copied modules, in the staging directory. Fails with BadContent if they are not of
    /// `version`, or not for the kernel of their path. `space` is the number of bytes that may be written.
    [[nodiscard]] base::Result<std::vector<Manifest>> stage(const std::string& version, std::uint64_t space);

  private:
    struct Stored {
        base::UniqueFd fd;
        std::string file;
    };
    const base::Root& staging_;
    std::map<std::string, std::vector<Stored>> kernels_;
    std::size_t count_ = 0;
};

} // namespace gpuhost::kmod
