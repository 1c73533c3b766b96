// SPDX-License-Identifier: Apache-2.0
// Reads packages and tars of NVIDIA's toolkit through one interface. The format is detected by content, not
// by file name.
#pragma once

#include "daemon/content/package/package.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace gpuhost::runtime {

struct PackageName {
    std::string package; ///< "nvidia-container-toolkit-base"; of a tar: the file name
    std::string version; ///< "1.18.1-1"
    std::string toolkit; ///< version of the toolkit: "1.18.1"; empty: not stated
};

/// A package or tar. After open(), next() returns its first file.
class ToolkitPackage {
  public:
    /// `name` is the file's name. Fails with Unsupported if the package is for another architecture.
    [[nodiscard]] static base::Result<ToolkitPackage> open(int fd, const std::string& name);

    [[nodiscard]] const PackageName& name() const { return name_; }
    [[nodiscard]] bool is_tar() const { return std::holds_alternative<content::ArchiveReader>(reader_); }
    [[nodiscard]] base::Result<std::optional<content::ArchiveEntry>> next() { return data().next(); }
    /// Returns the reader that has the content of the current file.
    [[nodiscard]] content::ArchiveReader& data();

  private:
    using Reader = std::variant<content::Package, content::ArchiveReader>;
    ToolkitPackage(PackageName name, Reader reader) : name_(std::move(name)), reader_(std::move(reader)) {}

    PackageName name_;
    Reader reader_;
};

/// Returns "1.18.1" for "nvidia-container-toolkit_1.18.1_linux_amd64.tar.gz"; empty if the name has no
/// version.
[[nodiscard]] std::string version_in_name(std::string_view file);

/// Returns the version of the toolkit for the version and release of a package; empty if it is not valid. An
/// RPM package of a release candidate has a release such as "0.1.rc.2".
[[nodiscard]] std::string toolkit_version(std::string_view version, std::string_view release);

} // namespace gpuhost::runtime
