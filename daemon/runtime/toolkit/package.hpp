// SPDX-License-Identifier: Apache-2.0
// A common reader for packages and tars of NVIDIA's toolkit. The file's content decides the format, not its
// name.
#pragma once

#include "daemon/content/package/package.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace gpuhost::runtime {

struct PackageName {
    std::string package; ///< "nvidia-container-toolkit-base"; for a tar, the file's name
    std::string version; ///< "1.18.1-1"
    std::string toolkit; ///< the toolkit's version, "1.18.1"; empty: not stated
};

/// Positioned at the first file when opened.
class ToolkitPackage {
  public:
    /// `name` is the file's. Fails with Unsupported if it is for another architecture.
    [[nodiscard]] static base::Result<ToolkitPackage> open(int fd, const std::string& name);

    [[nodiscard]] const PackageName& name() const { return name_; }
    [[nodiscard]] bool is_tar() const { return std::holds_alternative<content::ArchiveReader>(reader_); }
    [[nodiscard]] base::Result<std::optional<content::ArchiveEntry>> next() { return data().next(); }
    [[nodiscard]] content::ArchiveReader& data();

  private:
    using Reader = std::variant<content::Package, content::ArchiveReader>;
    ToolkitPackage(PackageName name, Reader reader) : name_(std::move(name)), reader_(std::move(reader)) {}

    PackageName name_;
    Reader reader_;
};

/// Returns "1.18.1" for "nvidia-container-toolkit_1.18.1_linux_amd64.tar.gz"; empty: no version.
[[nodiscard]] std::string version_in_name(std::string_view file);

/// Returns the toolkit's version for a package's version and release. An RPM package of a candidate has a
/// release such as "0.1.rc.2".
[[nodiscard]] std::string toolkit_version(std::string_view version, std::string_view release);

} // namespace gpuhost::runtime
