// SPDX-License-Identifier: Apache-2.0
// Makes source sets in the staging directory: the source of the kernel modules in a package.
#pragma once

#include "daemon/content/package/package.hpp"
#include "kmod/store/stage.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gpuhost::kmod {

/// A package to import, with its metadata.
struct GivenPackage {
    ImportFile file;
    content::PackageInfo info;
    std::uint64_t bytes = 0; ///< size of the package
};

/// Makes a source set with the whole package, unchanged: it is unpacked only for a build (36 MB contain 200
/// MB of source). `directory` is the directory of the source in the package. Fails with BadContent if a set
/// of its flavour was staged already.
[[nodiscard]] base::Result<Manifest> stage_source(const base::Root& staging, const GivenPackage& given,
                                                  const std::string& version, const std::string& directory,
                                                  const content::OnBytes& on_bytes);

/// Returns whether SourcePacker makes the source sets of this package; otherwise stage_source() does. The
/// result is true for NVIDIA's .run, which contains the whole driver (463 MB for 610.57.04) and the sources
/// of both flavours. The source sets of a .run get a tar of the source alone, compressed with zstd: 251 MB of
/// 550.163.01 become 57 MB in 1.5 s. With xz, as in Debian's package, they become 37 MB in a minute. The
/// result is also true for a tar of a source, so that the source set does not depend on the program that made
/// the tar.
[[nodiscard]] bool is_packed_again(const content::PackageInfo& info);

/// Makes source sets with a new tar of each source in a package.
class SourcePacker {
  public:
    SourcePacker(const base::Root& staging, std::string version)
        : staging_(staging), version_(std::move(version)) {}

    /// Returns whether this member of a package belongs to a source: usr/src/nvidia…/…
    [[nodiscard]] static bool is_source(const content::ArchiveEntry& entry);
    /// Adds the current member of `package`, which is_source() accepts, to the tar of its source.
    [[nodiscard]] base::Result<void> take(const content::ArchiveEntry& entry, content::Package& package);
    /// Completes the sets and returns their manifests.
    [[nodiscard]] base::Result<std::vector<Manifest>> finish();

  private:
    struct Packed;
    [[nodiscard]] base::Result<Packed*> packed(const std::string& directory, const std::string& package);

    const base::Root& staging_;
    std::string version_;
    std::map<std::string, std::shared_ptr<Packed>> directories_;
};

} // namespace gpuhost::kmod
