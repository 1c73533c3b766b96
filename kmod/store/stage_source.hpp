// SPDX-License-Identifier: Apache-2.0
// The source of kernel modules that a package brings, as a set in the staging directory.
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

/// Seals the package as it came: 200 MB of source in 36 MB are unpacked when somebody builds. `directory` is where the
/// source stands in it.
[[nodiscard]] base::Result<Manifest> stage_source(const base::Root& staging, const GivenPackage& given,
                                                  const std::string& version, const std::string& directory,
                                                  const content::OnBytes& on_bytes);

/// NVIDIA's .run is everything at once, 463 MB for 610.57.04: sealed as it came it would be there twice, for either source. So a
/// set gets a tar of its source alone: zstd makes 57 MB of the 251 MB of 550.163.01, in 1.5 s (xz, as in Debian's package, 37 MB
/// in a minute). A tar of a source is packed likewise, so that it is the same whoever made it.
[[nodiscard]] bool is_packed_again(const content::PackageInfo& info);

/// What is packed again.
class SourcePacker {
  public:
    SourcePacker(const base::Root& staging, std::string version)
        : staging_(staging), version_(std::move(version)) {}

    [[nodiscard]] static bool is_source(const content::ArchiveEntry& entry);
    /// The member where `package` stands.
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
