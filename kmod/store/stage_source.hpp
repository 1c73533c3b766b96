// SPDX-License-Identifier: Apache-2.0
// Makes a set in the staging directory from the source of kernel modules in a package.
#pragma once

#include "daemon/content/package/package.hpp"
#include "kmod/store/stage.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gpuhost::kmod {

struct GivenPackage {
    ImportFile file;
    content::PackageInfo info;
    std::uint64_t bytes = 0; ///< of the package itself
};

/// Seals the package unchanged: 200 MB of source in 36 MB are unpacked only for a build. `directory` is the
/// source's directory in the package.
[[nodiscard]] base::Result<Manifest> stage_source(const base::Root& staging, const GivenPackage& given,
                                                  const std::string& version, const std::string& directory,
                                                  const content::OnBytes& on_bytes);

/// Returns whether the source is packed again. NVIDIA's .run contains everything, 463 MB for 610.57.04, and
/// would be stored twice, for either source. A set therefore gets a tar of its source alone. zstd packs the
/// 251 MB of 550.163.01 into 57 MB in 1.5 s. xz, as in Debian's package, packs them into 37 MB in a minute. A
/// tar of a source is packed again too, so that the result does not depend on who made it.
[[nodiscard]] bool is_packed_again(const content::PackageInfo& info);

/// Packs sources again into sets.
class SourcePacker {
  public:
    SourcePacker(const base::Root& staging, std::string version)
        : staging_(staging), version_(std::move(version)) {}

    [[nodiscard]] static bool is_source(const content::ArchiveEntry& entry);
    /// Adds the current member of `package`.
    [[nodiscard]] base::Result<void> take(const content::ArchiveEntry& entry, content::Package& package);
    [[nodiscard]] base::Result<std::vector<Manifest>> finish();

  private:
    struct Packed;
    [[nodiscard]] base::Result<Packed*> packed(const std::string& directory, const std::string& package);

    const base::Root& staging_;
    std::string version_;
    std::map<std::string, std::shared_ptr<Packed>> directories_;
};

} // namespace gpuhost::kmod
