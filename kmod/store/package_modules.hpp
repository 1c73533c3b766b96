// SPDX-License-Identifier: Apache-2.0
// Makes module sets from built modules in packages (RPM's kmod packages): one set for each kernel.
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

    /// Copies the current member of `archive`, a module, into an unnamed file. The sets can be made only
    /// after all modules are read.
    [[nodiscard]] base::Result<void> take(const ModulePlace& place, content::ArchiveReader& archive);
    /// Makes sets of all copied modules in the staging directory, and returns their manifests. Fails with
    /// BadContent if a module is not of driver `version`, or not for the kernel in its path. `space` is the
    /// number of bytes that may be written.
    [[nodiscard]] base::Result<std::vector<Manifest>> stage(const std::string& version, std::uint64_t space);

  private:
    struct Stored {
        base::UniqueFd fd;
        std::string file;
    };
    const base::Root& staging_;
    std::map<std::string, std::vector<Stored>> kernels_; ///< by kernel release
    std::size_t count_ = 0;                              ///< modules in kernels_
};

} // namespace gpuhost::kmod
